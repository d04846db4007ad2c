// npm's MCP clients against `/mcp`: the second line in both eras, the first line, and the inspector's command line.
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { assert, check, finish, url } from './report.mjs';

const endpoint = new URL('/mcp', url);
const info = { name: 'toolmark-tests', version: '1' };
const run = promisify(execFile);

async function listAndCall(client) {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((tool) => tool.name), ['find_tools']);
  const result = await client.callTool({ name: 'find_tools', arguments: { query: 'read a file', limit: 3 } });
  assert.equal(result.isError ?? false, false);
  assert.equal(result.structuredContent.schema, 'toolmark.find/1');
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
}

for (const [mode, version] of [['auto', '2026-07-28'], ['legacy', '2025-11-25']]) {
  await check(`client 2, ${mode}`, async () => {
    const client = new Client(info, { versionNegotiation: { mode } });
    await client.connect(new StreamableHTTPClientTransport(endpoint));
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    await listAndCall(client);
    await client.close();
  });
}

await check('client 1', async () => {
  const client = new Client1(info);
  await client.connect(new Transport1(endpoint));
  await listAndCall(client);
  await client.close();
});

const inspector = path.join(process.env.TOOLMARK_TEST_NPM, 'node_modules', '.bin', 'mcp-inspector');
// Its first line names the interpreter `node`: the pinned one must be it.
const env = { ...process.env, PATH: `${path.dirname(process.execPath)}:${process.env.PATH}` };

for (const era of ['auto', 'modern', 'legacy']) {
  await check(`inspector, ${era}`, async () => {
    const common = ['--cli', endpoint.href, '--transport', 'http', '--protocol-era', era, '--format', 'json', '-q'];
    const list = await run(inspector, [...common, '--method', 'tools/list', '--strict'], { env, timeout: 60_000 });
    assert.match(list.stdout, /"find_tools"/);
    const called = [...common, '--method', 'tools/call', '--tool-name', 'find_tools', '--tool-arg', 'query=read a file'];
    const call = await run(inspector, called, { env, timeout: 60_000 });
    assert.match(call.stdout, /toolmark\.find\/1/);
  });
}

finish();
