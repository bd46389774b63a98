// A backend with two prompts, two resources and two resource templates.
import type { Test } from 'tap';
import { backendFor } from '../../support/deployment.js';
import type { McpBackend } from '../../support/mcp-backend.js';

/** Every resource that is read exists, and is empty. */
export async function listingBackend(t: Test): Promise<McpBackend> {
  return backendFor(t, {
    capabilities: { tools: {}, prompts: {}, resources: {} },
    methods: {
      'prompts/list': () => ({ prompts: [{ name: 'a' }, { name: 'b' }] }),
      'prompts/get': () => ({ messages: [] }),
      'resources/list': () => ({
        resources: [
          { uri: 'test://x', name: 'x' },
          { uri: 'test://y', name: 'y' },
        ],
      }),
      'resources/templates/list': () => ({
        resourceTemplates: [
          { uriTemplate: 'test://of/{id}', name: 'of' },
          { uriTemplate: 'test://other/{id}', name: 'other' },
        ],
      }),
      'resources/read': (params = '{}') => ({ contents: [{ ...(JSON.parse(params) as { uri: string }), text: '' }] }),
    },
  });
}
