// What the suite's client does in each of the suite's client scenarios, and what it is told of the gateway.
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { StoreOptions } from '../../src/config/table/store-options.js';
import type { ClientEra } from './modern-client-setup.js';
import type { Revision } from './tally.js';

/** The environment variable that holds a `ClientSetup` as JSON. */
export const SETUP_VARIABLE = 'SWITCHYARD_CONFORMANCE_CLIENT';

export interface ClientSetup {
  readonly revision: Revision;
  /** The era of the client that drives the gateway; for 2025-11-25 there is only one. */
  readonly era: ClientEra;
  /** The gateway's store, where the client writes its user config. */
  readonly storeOptions: StoreOptions;
  readonly subject: string;
  readonly virtualHostId: string;
  readonly token: string;
  /** The URL of the virtual host. */
  readonly url: string;
}

/** The gateway's name for the suite's server. */
export const BACKEND = 'suite';

export const scenarioSteps: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  initialize: (client) => client.listTools(),
  tools_call: async (client) => {
    await client.listTools();
    await client.callTool({ name: `${BACKEND}-add_numbers`, arguments: { a: 5, b: 3 } });
  },
  // The SDK's client fills in the defaults of omitted values.
  'elicitation-sep1034-client-defaults': async (client) => {
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }));
    await client.callTool({ name: `${BACKEND}-test_client_elicitation_defaults`, arguments: {} });
  },
  'sse-retry': async (client) => {
    const { tools } = await client.listTools();
    await client.callTool({ name: tools[0]?.name ?? '', arguments: {} });
  },
  'json-schema-2020-12-preservation': async (client) => {
    const { tools } = await client.listTools();
    const schema = tools.find(({ name }) => name === `${BACKEND}-json_schema_2020_12_tool`)?.inputSchema;
    await client.callTool({ name: `${BACKEND}-json_schema_echo`, arguments: { schema } });
  },
};
