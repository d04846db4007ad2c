// The first journey: find a server and read about it, with script and without, on a wide and on a narrow screen.
import { check, finish, assert, url } from '../clients/report.mjs';
import { NARROW, WIDE, accessible, fits, open, picture, visit, wellMade, withBrowser } from './browser.mjs';

const NAME = 'ai.exa/exa';
const PAGES = {
  home: '/',
  search: '/search?q=exa',
  'search-empty': '/search?q=no-such-server-zzqx',
  server: `/s/${NAME}`,
  versions: `/s/${NAME}/versions`,
};

/** From the front page by its search form to the server, as a visitor would: by typing and by links. */
async function find(page) {
  await visit(page, `${url}/`);
  const field = await page.waitForSelector('input[name="q"]', { timeout: 5_000 });
  await field.type('exa');
  await Promise.all([page.waitForNavigation({ timeout: 30_000 }), page.keyboard.press('Enter')]);
  const target = new URL(page.url());
  assert.equal(target.pathname, '/search');
  assert.equal(target.searchParams.get('q'), 'exa', 'the words stay in the address');
  const link = await page.$(`main a[href="/s/${NAME}"]`);
  assert.ok(link, `a link to ${NAME} among the hits`);
  await Promise.all([page.waitForNavigation({ timeout: 30_000 }), link.click()]);
  assert.equal(new URL(page.url()).pathname, `/s/${NAME}`);
  const text = await page.$eval('main', (main) => main.textContent);
  assert.ok(text.includes(NAME), 'the page names the server');
}

await withBrowser(async (browser) => {
  for (const script of [true, false]) {
    await check(`a visitor finds a server ${script ? 'with' : 'without'} script`, async () => {
      const page = await open(browser, { script });
      await find(page);
      assert.deepEqual(page.wrong, []);
      await page.close();
    });
  }

  for (const [name, path] of Object.entries(PAGES)) {
    await check(`page ${name} is well made and accessible`, async () => {
      const page = await open(browser, { size: WIDE });
      await wellMade(page, await visit(page, url + path));
      await picture(page, `${name}-wide`);
      await accessible(page);
      await page.close();
    });

    await check(`page ${name} fits a phone`, async () => {
      const page = await open(browser, { size: NARROW });
      await visit(page, url + path);
      await fits(page);
      await picture(page, `${name}-narrow`);
      await page.close();
    });
  }

  await check('an unknown server is a page of 404 with a way onward', async () => {
    const page = await open(browser);
    const answer = await page.goto(`${url}/s/com.example/no-such-server`, { waitUntil: 'networkidle0' });
    assert.equal(answer.status(), 404);
    assert.ok(await page.$('main a[href]'), 'a link');
    await accessible(page);
    await page.close();
  });
});

finish();
