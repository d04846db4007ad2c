// VS Code's own gallery code against the registry: what an editor shows to people.
import { readFileSync } from 'node:fs';
import { CancellationToken } from '@codingame/monaco-vscode-api/vscode/vs/base/common/cancellation';
import { bufferToStream, VSBuffer } from '@codingame/monaco-vscode-api/vscode/vs/base/common/buffer';
import { McpGalleryManifestService } from '@codingame/monaco-vscode-mcp-service-override/vscode/vs/platform/mcp/common/mcpGalleryManifestService';
import { McpGalleryService } from '@codingame/monaco-vscode-mcp-service-override/vscode/vs/platform/mcp/common/mcpGalleryService';
import { assert, check, finish, url } from './report.mjs';

const OFFICIAL = 'io.modelcontextprotocol.registry/official';
const SCRATCH = 'io.modelcontextprotocol.anonymous/';
const PAGE = 50;

const corpus = `${process.env.TOOLMARK_TEST_DATA}/official-registry-servers.2025-12-12.jsonl`;
const rows = readFileSync(corpus, 'utf8').trim().split('\n').map((line) => JSON.parse(line));
// Rows in the present shape; a few are older and are the importer's own test.
const latest = rows.filter((row) => row._meta[OFFICIAL].isLatest && row._meta[OFFICIAL].status);
const byName = new Map(latest.map((row) => [row.server.name, row]));

// What VS Code would log is a finding here: its code swallows a failed request and shows an empty list.
const errors = [];
const log = new Proxy({}, { get: (_, level) => (message) => level === 'error' && errors.push(String(message)) });
const requests = [];
const request = {
  async request({ url: target }) {
    requests.push(target);
    const answer = await fetch(target, { headers: { Origin: 'vscode-file://vscode-app' } });
    assert.equal(answer.headers.get('access-control-allow-origin'), '*', `CORS on ${target}`);
    const body = VSBuffer.wrap(new Uint8Array(await answer.arrayBuffer()));
    return { res: { statusCode: answer.status, headers: Object.fromEntries(answer.headers) }, stream: bufferToStream(body) };
  },
};

const manifests = new McpGalleryManifestService({}, request, log);
const manifest = await manifests.createMcpGalleryManifest(url);
const gallery = new McpGalleryService(request, {}, log, {
  mcpGalleryManifestStatus: 'available',
  getMcpGalleryManifest: async () => manifest,
});

async function everyPage(options) {
  const { firstPage, getNextPage } = await gallery.query(options);
  const pages = [firstPage];
  while (pages.at(-1).hasMore) {
    assert.ok(pages.length < 100, 'paging does not end');
    pages.push(await getNextPage(CancellationToken.None));
  }
  return pages.map((page) => page.items.filter((item) => !item.name.startsWith(SCRATCH)));
}

await check('the probe finds v0.1', () => {
  assert.equal(manifest.version, 'v0.1');
});

await check('every page together gives each server once, in its latest version', async () => {
  const pages = await everyPage();
  const items = pages.flat();
  assert.ok(pages.length > latest.length / PAGE - 1, `${pages.length} pages`);
  assert.equal(new Set(items.map((item) => item.name)).size, items.length, 'a name came twice');
  const got = new Map(items.map((item) => [item.name, item.version]));
  for (const row of latest) {
    assert.equal(got.get(row.server.name), row.server.version, `version of ${row.server.name}`);
  }
});

await check('a row carries what the editor shows', async () => {
  const items = (await everyPage()).flat();
  for (const item of items.filter(({ name }) => byName.has(name))) {
    const { server, _meta } = byName.get(item.name);
    assert.equal(item.description, server.description, item.name);
    assert.equal(item.isLatest, true, item.name);
    assert.equal(item.status, _meta[OFFICIAL].status, item.name);
    assert.equal(item.publishDate, Date.parse(_meta[OFFICIAL].publishedAt), item.name);
    assert.equal(item.repositoryUrl, server.repository?.url, item.name);
    assert.deepEqual(item.configuration.remotes?.map((remote) => remote.url), server.remotes?.map((remote) => remote.url), item.name);
    assert.deepEqual(item.configuration.packages?.map((one) => one.identifier), server.packages?.map((one) => one.identifier), item.name);
  }
});

await check('a search stays a search on its next pages', async () => {
  const wanted = latest.map((row) => row.server.name).filter((name) => name.toLowerCase().includes('mcp'));
  assert.ok(wanted.length > 2 * PAGE, 'the corpus must fill more than two pages');
  const pages = await everyPage({ text: 'mcp' });
  const names = pages.flat().map((item) => item.name);
  assert.ok(pages.length > 2);
  assert.equal(pages[0].length, PAGE);
  for (const name of wanted) assert.ok(names.includes(name), `${name} is missing`);
  // The words may stand in the description instead; a page of unrelated servers may not come.
  for (const item of pages.flat()) {
    assert.match(`${item.name} ${item.displayName} ${item.description}`, /mcp/i);
  }
});

await check('a search without a hit is empty', async () => {
  assert.deepEqual((await everyPage({ text: 'no-such-server-zzqx' })).flat(), []);
});

await check('by name, for each server of a page', async () => {
  const names = latest.slice(0, PAGE).map((row) => row.server.name);
  const found = await gallery.getMcpServersFromGallery(names.map((name) => ({ name })));
  assert.deepEqual(found.map((item) => item.name).sort(), [...names].sort());
  for (const item of found) assert.equal(item.version, byName.get(item.name).server.version);
});

await check('an unknown name is absent, not an error', async () => {
  assert.deepEqual(await gallery.getMcpServersFromGallery([{ name: 'com.example/no-such-server' }]), []);
});

await check('nothing was logged as an error', () => {
  assert.deepEqual(errors, []);
  assert.ok(requests.length > 20, 'the gallery asked the registry');
});

finish();
