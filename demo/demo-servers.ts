// The two MCP servers of the quick start: small tools, each of which shows something of the gateway.
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { z } from 'zod';

/** Exact arithmetic and the time of day; answers at once. */
export function createCalculator(): McpServer {
  const server = new McpServer({ name: 'demo-calculator', version: '1.0.0' });
  server.registerTool(
    'add',
    { description: 'Adds two numbers.', inputSchema: { a: z.number(), b: z.number() } },
    ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
  );
  server.registerTool('now', { description: 'The current time, ISO 8601.' }, () => ({
    content: [{ type: 'text', text: new Date().toISOString() }],
  }));
  return server;
}

/** Text tools; `countdown` takes a while and reports progress meanwhile. */
export function createWordsmith(): McpServer {
  const server = new McpServer({ name: 'demo-wordsmith', version: '1.0.0' });
  server.registerTool(
    'reverse',
    { description: 'Reverses a text.', inputSchema: { text: z.string() } },
    ({ text }) => ({ content: [{ type: 'text', text: [...text].reverse().join('') }] }),
  );
  server.registerTool(
    'countdown',
    {
      description: 'Counts down from a number, a step every 200 ms, with progress notifications.',
      inputSchema: { from: z.number().int().min(1).max(50) },
    },
    async ({ from }, { _meta, sendNotification }) => {
      const progressToken = _meta?.progressToken;
      for (let step = 1; step <= from; step += 1) {
        await sleep(200);
        if (progressToken === undefined) continue;
        const params = { progressToken, progress: step, total: from, message: `${from - step} to go` };
        await sendNotification({ method: 'notifications/progress', params });
      }
      return { content: [{ type: 'text', text: 'Lift-off!' }] };
    },
  );
  return server;
}
