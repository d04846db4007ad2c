// Chromium for the journeys: one browser a script, a new profile, pictures into the output folder.
import { createRequire } from 'node:module';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { assert } from '../clients/report.mjs';

const require = createRequire(`${process.env.TOOLMARK_TEST_NPM}/package.json`);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 360, height: 740 };

/** Runs `body` with a browser and ends it whatever happens. */
export async function withBrowser(body) {
  const profile = mkdtempSync(join(tmpdir(), 'toolmark-chromium-'));
  const browser = await puppeteer.launch({
    executablePath: process.env.TOOLMARK_TEST_CHROMIUM,
    userDataDir: profile,
    args: [
      // As root Chromium refuses its own sandbox; it visits nothing but our server on loopback.
      '--no-sandbox', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage',
    ],
  });
  try {
    await body(browser);
  } finally {
    await browser.close();
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** A new page that remembers whatever went wrong on it. */
export async function open(browser, { script = true, size = WIDE } = {}) {
  const page = await browser.newPage();
  page.wrong = [];
  page.on('pageerror', (error) => page.wrong.push(`script: ${error.message}`));
  page.on('console', (line) => line.type() === 'error' && page.wrong.push(`console: ${line.text()}`));
  page.on('requestfailed', (one) => page.wrong.push(`request: ${one.url()} ${one.failure()?.errorText}`));
  page.on('response', (one) => one.status() >= 400 && page.wrong.push(`answer: ${one.status()} ${one.url()}`));
  // Each page is a first visit: no answer of an earlier one may stand for it.
  await page.setCacheEnabled(false);
  await page.setJavaScriptEnabled(script);
  await page.setViewport(size);
  return page;
}

export async function visit(page, address) {
  const answer = await page.goto(address, { waitUntil: 'networkidle0', timeout: 30_000 });
  assert.equal(answer.status(), 200, address);
  return answer;
}

/** What every page of ours owes its reader. */
export async function wellMade(page, answer) {
  const html = await answer.text();
  assert.match(html, /<html lang=/, 'the page names its language');
  const csp = answer.headers()['content-security-policy'] ?? '';
  assert.match(csp, /default-src 'none'/, 'content security policy');
  assert.doesNotMatch(csp, /unsafe/, 'content security policy');
  assert.ok((await page.title()).trim(), 'a title');
  assert.equal((await page.$$('main')).length, 1, 'one main');
  assert.equal((await page.$$('h1')).length, 1, 'one first heading');
  assert.deepEqual(page.wrong, [], 'errors while the page was loaded');
}

export async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ')}`);
  assert.deepEqual(found, [], 'accessibility');
}

export async function fits(page) {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, globalThis.innerWidth]);
  assert.ok(content <= window, `the page is ${content} wide in a window of ${window}`);
}

export function picture(page, name) {
  return page.screenshot({ path: `${process.env.TOOLMARK_TEST_OUT}/${name}.png`, fullPage: false });
}
