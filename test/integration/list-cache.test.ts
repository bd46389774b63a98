// Cached lists and catalogues (`--list-cache`) of all sizes, under load: two subjects with two credentials each use the same backends,
// whose lists depend on the credential, while backends announce changed lists and configs change. No caller is given another's list.
import t, { type Test } from 'tap';
import { backendFor, completeBackends, startDeployment } from '../support/deployment.js';
import { inParallel } from '../support/in-parallel.js';
import { JsonText, memberText } from '../support/json-text.js';
import type { McpBackend } from '../support/mcp-backend.js';
import { answerText, type McpSession } from '../support/mcp-caller.js';
import { NamedCaller, WHO_HEADER } from '../support/named-caller.js';

/** Below the size that is read on the event loop, close to it, and far beyond it. */
const TOOLS = { small: 3, middle: 300, large: 1_500 };
const SUBJECTS = 2;
const CREDENTIALS = ['red', 'blue'];
/** For each credential and virtual host. */
const SESSIONS = 2;
const ROUNDS = 6;
const WORD = /t-(\w+)-(\w+)-\d+/g;
const DESCRIPTION = 'd'.repeat(300);

function toolsOf(who: string, count: number): JsonText {
  const tools = Array.from(
    { length: count },
    (_, n) =>
      `{"name":"t-${who}-${n}","description":"a tool of ${who} ${DESCRIPTION}","inputSchema":{"type":"object"}}`,
  );
  return new JsonText(`{"tools":[${tools.join()}]}`);
}

async function startBackend(t: Test, count: number): Promise<McpBackend> {
  const texts = new Map<string, JsonText>();
  return backendFor(t, {
    withSessions: true,
    capabilities: { tools: { listChanged: true } },
    onCall: async (call) => {
      await call.notify('notifications/tools/list_changed', {});
      return { content: [] };
    },
    onRequest: (request) => {
      if (memberText(request.text, 'method') !== '"tools/list"') return false;
      const who = request.headers[WHO_HEADER] ?? 'nobody';
      const text = texts.get(who) ?? toolsOf(who, count);
      texts.set(who, text);
      request.json(`{"jsonrpc":"2.0","id":${memberText(request.text, 'id')},"result":${text.text}}`);
      return true;
    },
  });
}

/** The owners of the tools in a response. */
function owners(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(WORD), ([, subject, credential]) => `${subject}-${credential}`))];
}

t.test('nobody is given another’s list', async (t) => {
  const deployment = await startDeployment(t, { workerCount: 2, options: ['--list-cache', '60s'] });
  const backends = Object.fromEntries(
    await Promise.all(
      Object.entries(TOOLS).map(async ([name, count]) => [name, await startBackend(t, count)] as const),
    ),
  );
  const listsAsked = (): number =>
    Object.values(backends).reduce((sum, backend) => sum + backend.requestsOf('tools/list').length, 0);
  const members = Object.fromEntries(
    Object.entries(backends).map(([name, { url }]) => [name, { url, passthrough_headers: [WHO_HEADER] }]),
  );
  const hosts = { plain: deployment.newVirtualHostId(), search: deployment.newVirtualHostId() };
  const subjects = Array.from({ length: SUBJECTS }, () => deployment.newSubject());
  const configure = async (subject: string, round: number): Promise<void> => {
    const all = completeBackends(members);
    const virtual_hosts = {
      [hosts.plain]: { backends: all },
      [hosts.search]: { backends: all, exposure: 'search' },
      // Makes each config different from the last, since every byte of it counts.
      [`round-${round}`]: { backends: {} },
    };
    await deployment.writeConfig(subject, { virtual_hosts });
  };
  for (const subject of subjects) await configure(subject, 0);

  const lanes: { who: string; session: McpSession; isSearch: boolean }[] = [];
  for (const [number, subject] of subjects.entries())
    for (const credential of CREDENTIALS)
      for (const [kind, id] of Object.entries(hosts)) {
        const who = `s${number}-${credential}`;
        const token = await deployment.token(subject);
        const caller = new NamedCaller(deployment.gateway.origin, deployment.gateway.path(id), token, who);
        for (let count = 0; count < SESSIONS; count += 1)
          lanes.push({ who, session: await caller.openSession(), isSearch: kind === 'search' });
      }

  const foreign: string[] = [];
  let lists = 0;
  let short = 0;
  const look = (who: string, text: string, isWhole: boolean): void => {
    const seen = owners(text);
    lists += 1;
    if (seen.length > 1 || (seen.length === 1 && seen[0] !== who)) foreign.push(`${who} was given ${seen.join()}`);
    // On a busy machine a backend may not be ready in time, or a list may not be merged; the response then says so.
    const isTold = text.includes('"error"') || text.includes('unavailable');
    const count = (text.match(WORD) ?? []).length;
    if (isWhole && !isTold && count < TOOLS.small + TOOLS.middle + TOOLS.large) short += 1;
  };
  await inParallel([...lanes.entries()], lanes.length, async ([lane, { who, session, isSearch }]) => {
    for (let round = 0; round < ROUNDS; round += 1) {
      if (isSearch) look(who, answerText(await session.call('find_tools', `{"query":"tool of ${who}"}`)), false);
      else look(who, answerText(await session.list()), true);
      // Now and then a backend's lists change, or the config.
      if (round % 3 === 2) {
        const call = `{"name":"small-t-${who}-0","arguments":{}}`;
        if (isSearch) await session.call('call_tool', call);
        else await session.call(`small-t-${who}-0`);
      }
      if (lane % 4 === 0 && round === 2) await configure(subjects[Number(who[1])]!, round + lane);
    }
  });
  t.same(foreign, []);
  t.equal(short, 0, 'lists were whole');
  t.equal(lists, lanes.length * ROUNDS);
  const asked = listsAsked();
  t.ok(
    asked < lists * Object.keys(TOOLS).length,
    `${asked} lists were asked for, for ${lists} answers from 3 backends`,
  );
  t.equal(deployment.gateway.errorOutput, '', 'standard error is empty');
});
