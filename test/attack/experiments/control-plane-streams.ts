// What a server of the control plane may ask and send at `/mcp`, where one process serves everybody: the same as on the
// dataplane, while other requests are still answered.
import { McpCaller, type McpSession } from '../../support/mcp-caller.js';
import { expect, type Experiment } from '../experiment.js';
import type { Stage } from '../stage.js';
import { residentBytes } from '../worker-watch.js';
import { hearManyAsks, leaveUnread, PARAMS, startManyAsks, startTalking, type AskingBackend } from './asking.js';
import { ANSWER_MS_MAX, Api, HealthWatch } from './control-plane.js';

const BESIDE = `health and lists are answered within ${ANSWER_MS_MAX / 1_000} s`;

export const manyAsks: Experiment = {
  name: 'control-plane-many-asks',
  isOnceInShort: true,
  expected: `a call at /mcp whose server asks 10,000 things and says many more: asked a few, and the call ends; ${BESIDE}`,
  async run(stage) {
    const changes = stage.scaled(300_000, 10_000);
    const asking = await startManyAsks(stage, changes);
    const { api, openSession } = await serve(stage, asking);
    return watched(api, async () => hearManyAsks(await openSession(), changes));
  },
};

export const unreadStreams: Experiment = {
  name: 'control-plane-unread',
  isOnceInShort: true,
  expected: `clients that take nothing of their GET streams at /mcp: less than 200 MiB more memory; ${BESIDE}`,
  async run(stage) {
    const asking = await startTalking(stage);
    const { api, openSession } = await serve(stage, asking);
    return watched(api, () => leaveUnread(stage, asking, { openSession, memory: () => residentBytes(api.pid) }));
  },
};

interface Served {
  readonly api: Api;
  readonly openSession: () => Promise<McpSession>;
}

/** Starts a control plane whose only server is the backend. */
async function serve(stage: Stage, asking: AskingBackend): Promise<Served> {
  const api = await Api.startAlone(stage);
  const registered = await api.send('POST', '/servers', { name: 'asking', url: asking.backend.url });
  expect(registered.status === 201, `registered: ${registered.status} ${registered.text.slice(0, 200)}`);
  const caller = new McpCaller(api.origin, '/mcp', api.token);
  return { api, openSession: () => caller.openSession({ params: PARAMS }) };
}

/** Returns the outcome, and how the control plane answered meanwhile. */
async function watched(api: Api, attack: () => Promise<string>): Promise<string> {
  const watch = new HealthWatch(api);
  let others = '';
  const seen = await attack().finally(async () => (others = await watch.end()));
  expect(watch.longestMs < ANSWER_MS_MAX && watch.failures === 0, `${seen}; ${others}`);
  return `${seen}; ${others}`;
}
