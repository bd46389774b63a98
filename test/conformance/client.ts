// The client that the official suite runs, with the URL of the suite's server as the last argument: makes that server the
// only backend of a virtual host, and drives the gateway with an SDK's client. So what the suite sees is the gateway.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { writeConfig } from '../support/config-writer.js';
import { completeBackends } from '../support/deployment.js';
import { BACKEND, scenarioSteps, SETUP_VARIABLE, type ClientSetup } from './client-setup.js';
import { connectClient, modernSteps } from './modern-client-setup.js';

const setup = JSON.parse(process.env[SETUP_VARIABLE] ?? '{}') as ClientSetup;
const scenario = process.env['MCP_CONFORMANCE_SCENARIO'] ?? '';
const backendUrl = process.argv.at(-1) ?? '';

const { storeOptions, subject, virtualHostId, token, revision, era } = setup;
const backends = completeBackends({ [BACKEND]: { url: backendUrl } });
await writeConfig(storeOptions, subject, { virtual_hosts: { [virtualHostId]: { backends } } });
await (revision === '2026-07-28' ? runModern() : runLegacy());

async function runModern(): Promise<void> {
  const client = await connectClient(era, setup.url, token);
  await known(modernSteps[scenario])(client, JSON.parse(process.env['MCP_CONFORMANCE_CONTEXT'] ?? '{}') as object);
  await client.close();
}

async function runLegacy(): Promise<void> {
  const transport = new StreamableHTTPClientTransport(new URL(setup.url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  const client = new Client(
    { name: 'conformance', version: '1.0.0' },
    { capabilities: { elicitation: { form: { applyDefaults: true } } } },
  );
  await client.connect(transport);
  await known(scenarioSteps[scenario])(client);
  await transport.terminateSession();
  await client.close();
}

function known<T>(steps: T | undefined): T {
  if (steps === undefined) throw new Error('this is run by the suite, for a scenario that it knows');
  return steps;
}
