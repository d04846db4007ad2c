// A server of the TypeScript SDK's second line: stdio or HTTP, both eras or the modern one alone.
import { createServer } from 'node:http';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod/v4';

function server() {
  const made = new McpServer({ name: 'sdk-v2', version: '2.3.4' });
  made.registerTool('add', { description: 'Adds two numbers', inputSchema: z.object({ a: z.number(), b: z.number() }) }, async () => ({ content: [] }));
  made.registerPrompt('greet', { description: 'Greets' }, () => ({ messages: [] }));
  return made;
}

const [kind, port] = process.argv.slice(2);
if (kind === 'stdio') {
  serveStdio(server);
} else {
  const handler = createMcpHandler(server, kind === 'modern' ? { legacy: 'reject' } : {});
  createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const answer = await handler.fetch(new Request(`http://127.0.0.1:${port}${request.url}`, {
      method: request.method,
      headers: request.headers,
      body: pieces.length ? Buffer.concat(pieces) : undefined,
    }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    for await (const piece of answer.body ?? []) response.write(piece);
    response.end();
  }).listen(Number(port), '127.0.0.1');
}
