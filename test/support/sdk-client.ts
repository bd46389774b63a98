// The SDK's real client connected to a virtual host; closed with the test.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Test } from 'tap';

export interface SdkClient {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
}

/**
 * @param token `undefined` for an endpoint that needs none.
 * @param client a client with its own capabilities and handlers.
 */
export async function connectSdkClient(
  t: Pick<Test, 'teardown'>,
  url: string,
  token: string | undefined,
  client = new Client({ name: 'integration', version: '1.0.0' }),
): Promise<SdkClient> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  t.teardown(() => client.close());
  await client.connect(transport);
  return { client, transport };
}
