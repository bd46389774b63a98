// The client that the official suite runs, with the URL of its own server as the last word: makes that server the only
// backend of a virtual host, and drives the gateway with the SDK's client. So it is the gateway whom the suite sees.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { writeConfig } from '../support/config-writer.js';
import { completeBackends } from '../support/deployment.js';
import { BACKEND, scenarioSteps, SETUP_VARIABLE, type ClientSetup } from './client-setup.js';

const setup = JSON.parse(process.env[SETUP_VARIABLE] ?? '{}') as ClientSetup;
const steps = scenarioSteps[process.env['MCP_CONFORMANCE_SCENARIO'] ?? ''];
const backendUrl = process.argv.at(-1) ?? '';
if (steps === undefined) throw new Error('this is run by the suite, for a scenario that it knows');

const { storeOptions, subject, virtualHostId, token } = setup;
const backends = completeBackends({ [BACKEND]: { url: backendUrl } });
await writeConfig(storeOptions, subject, { virtual_hosts: { [virtualHostId]: { backends } } });

const transport = new StreamableHTTPClientTransport(new URL(setup.url), {
  requestInit: { headers: { authorization: `Bearer ${token}` } },
});
const client = new Client(
  { name: 'conformance', version: '1.0.0' },
  { capabilities: { elicitation: { form: { applyDefaults: true } } } },
);
await client.connect(transport);
await steps(client);
await transport.terminateSession();
await client.close();
