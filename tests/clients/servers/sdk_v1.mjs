// A server of the TypeScript SDK's first line: stdio, or HTTP with or without sessions.
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

function server() {
  const made = new McpServer({ name: 'sdk-v1', version: '1.2.3' });
  made.registerTool('add', { description: 'Adds two numbers', inputSchema: { a: z.number(), b: z.number() } }, async () => ({ content: [] }));
  made.registerPrompt('greet', { description: 'Greets' }, () => ({ messages: [] }));
  return made;
}

const [kind, port] = process.argv.slice(2);
if (kind === 'stdio') {
  await server().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  createServer(async (request, response) => {
    const id = request.headers['mcp-session-id'];
    let transport = sessions.get(id);
    if (!transport) {
      const sessionIdGenerator = kind === 'sessions' ? randomUUID : undefined;
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator,
        enableJsonResponse: kind === 'json',
        onsessioninitialized: (session) => sessions.set(session, transport),
      });
      await server().connect(transport);
    }
    await transport.handleRequest(request, response);
  }).listen(Number(port), '127.0.0.1');
}
