// Explains to an operator what a subject may reach at a virtual host: the config as this worker reads it, what this worker knows of each
// backend, and the outcome that a call would have. Sends nothing to a backend. Cold path.
import {
  headersSetBy,
  type CompiledBackend,
  type CompiledVirtualHost,
  type UserConfigRead,
  bareNameOf,
  routeName,
} from '../user-config/index.js';
import type { ViewQuestion } from '../process/index.js';
import type { Relay } from '../relay/index.js';
import type { Session } from '../session/index.js';
import { sessionHash } from '../shared/index.js';
import type { OriginView } from '../upstream/index.js';
import { faultReason } from '../http-client/index.js';

/** The most backends or virtual hosts that one answer lists. */
export const VIEW_BACKENDS_MAX = 100;
/** The most names of an allow-list that one answer lists. */
const VIEW_NAMES_MAX = 200;
/** The most sessions that an explanation lists for each backend. */
const VIEW_SESSIONS_PER_BACKEND_MAX = 20;

const SUBJECT_HASH = /^[\da-f]{12}$/;

type ExplainQuestion = Extract<ViewQuestion, { view: 'explain' }>;
type RelayView = Pick<Relay, 'origins' | 'sessions' | 'lastFaultOf'>;

export function explain(
  { subject, virtualHost: id, tool }: ExplainQuestion,
  read: UserConfigRead,
  relay: RelayView,
): Readonly<Record<string, unknown>> {
  if (read.kind === 'missing') {
    const hint = SUBJECT_HASH.test(subject)
      ? '. This looks like the hash in the log: give the `sub` of the token instead'
      : '';
    return {
      config: 'missing',
      verdict: `the store has no user config for this subject: every request gets 400${hint}`,
    };
  }
  if (read.kind === 'failed') return { config: 'failed', verdict: `every request gets 500: ${read.reason}` };
  const { config, oddities } = read;
  const virtualHost = config.virtualHosts.get(id);
  if (virtualHost === undefined) {
    const virtualHostIds = [...config.virtualHosts.keys()].slice(0, VIEW_BACKENDS_MAX);
    const verdict = 'the user config has no such virtual host: every request gets 404';
    return { config: 'read', oddities, verdict, virtualHosts: virtualHostIds };
  }
  const backends = [...virtualHost.backends.values()].slice(0, VIEW_BACKENDS_MAX);
  const sessions: Session[] = [];
  for (const session of relay.sessions) {
    const { identity } = session;
    if (identity.subject === subject && identity.virtualHostId === id) sessions.push(session);
    if (sessions.length >= VIEW_SESSIONS_PER_BACKEND_MAX) break;
  }
  return {
    config: 'read',
    oddities,
    backends: backends.map((backend) => backendView(backend, sessions, relay)),
    ...(tool !== '' && { tool, verdict: verdictOf(virtualHost, tool, relay) }),
  };
}

/** A backend's config without secrets: only the origin of its URL, and only the header names of its credentials. */
function backendView(backend: CompiledBackend, sessions: readonly Session[], relay: RelayView): object {
  const { name, prefix, target, obstacle, passthroughHeaders, allowedNames, curation, auth } = backend;
  const { origin } = target;
  const originView = relay.origins.find((one) => one.origin === origin);
  return {
    ...{ name, origin, prefix, obstacle },
    allowedTools: boundedNames(allowedNames.tools),
    allowedPrompts: boundedNames(allowedNames.prompts),
    allowedResources: boundedNames(allowedNames.resources),
    passthroughHeaders: boundedNames(passthroughHeaders),
    curatedTools: curation.tools?.byBareName.size ?? 0,
    curatedPrompts: curation.prompts?.byBareName.size ?? 0,
    authHeaders: headersSetBy(auth),
    ...circuitView(origin, originView, relay),
    sessions: sessions.map(({ identity, upstreams }) => ({
      session: sessionHash(identity.id),
      ...upstreamView(upstreams.findUsed(name)),
    })),
  };
}

/** An origin in the admin views: circuit, last fault, forgiven oddities. @param used `undefined` when this worker has not used it. */
export function circuitView(origin: string, used: OriginView | undefined, relay: Pick<Relay, 'lastFaultOf'>): object {
  return {
    circuit: used?.state ?? 'unused',
    ...(used?.fault && { reason: faultReason(used.fault) }),
    forgiven: used?.forgiven,
    lastFault: relay.lastFaultOf(origin) ?? null,
  };
}

/** The state of a session's upstream session with one backend. */
export function upstreamView(upstream: ReturnType<Session['upstreams']['findUsed']>): object {
  const { state = 'unused', record, fault } = upstream ?? {};
  return { state, ...(record && { era: record.era }), ...(fault && { reason: faultReason(fault) }) };
}

function boundedNames(names: ReadonlySet<string> | undefined): readonly string[] | 'all' {
  return names === undefined ? 'all' : [...names].slice(0, VIEW_NAMES_MAX);
}

/** What a call of the tool would get, and why; also whether `tools/list` can list the tool. */
function verdictOf(virtualHost: CompiledVirtualHost, tool: string, relay: RelayView): string {
  const { backends, backendsByPrefixLength } = virtualHost;
  // The first backend that matches, which has the longest prefix, owns the name.
  const [backend, ...others] = backendsByPrefixLength.filter(({ prefix }) => tool.startsWith(prefix));
  if (backend === undefined) {
    const names = [...backends.keys()].slice(0, VIEW_BACKENDS_MAX).join(', ');
    return `unknown backend: this name starts with no known prefix; available: ${names || 'none'}. A call gets -32602`;
  }
  const clashNote = others.map((other) => describeShadowedTool(virtualHost, other, tool)).join('');
  const route = routeName(virtualHost, 'tools', tool);
  if (route === undefined) return `${clashNote}${explainUnknownTool(backend, tool)}. A call gets -32602`;
  if (backend.obstacle !== undefined) {
    return `${clashNote}${backend.name} is never reached: ${faultReason({ kind: backend.obstacle, isUnsent: true })}. A call gets -32603`;
  }
  const { fault } = relay.origins.find(({ origin }) => origin === backend.target.origin) ?? {};
  if (fault !== undefined) {
    return `${clashNote}${backend.name} cannot be reached now: ${faultReason(fault)}. A call gets -32603 immediately`;
  }
  const entryNote = route.curated === undefined ? '' : `, as its entry in the config's tools has it`;
  const lastFault = relay.lastFaultOf(backend.target.origin);
  const lastFaultNote =
    lastFault === undefined ? '' : `. Its server last failed at ${lastFault.at}: ${lastFault.reason}`;
  return `${clashNote}allowed: a call goes to ${backend.name} as "${route.bareName}"${entryNote}. It is listed if the server lists it; whether it does was not asked${lastFaultNote}`;
}

/** Describes a tool of this name at a backend with a shorter prefix, which the longer prefix hides. `''` if there is none. */
function describeShadowedTool(virtualHost: CompiledVirtualHost, backend: CompiledBackend, tool: string): string {
  const route = routeName({ ...virtualHost, backendsByPrefixLength: [backend] }, 'tools', tool);
  if (route === undefined) return '';
  return `the tool "${route.bareName}" of ${backend.name} would have this name too, and cannot be reached because the longer prefix wins.  `;
}

/** Why the name maps to no tool of its backend. */
function explainUnknownTool({ name: backend, prefix, curation, allowedNames }: CompiledBackend, tool: string): string {
  const name = tool.slice(prefix.length);
  const items = curation.tools;
  const entry = items?.byBareName.get(name)?.entry;
  const bareName = items === undefined ? name : bareNameOf(items, name);
  if (bareName !== undefined && allowedNames.tools?.has(bareName) === false) {
    return `not allowed: this virtual host does not have the tool "${bareName}" of ${backend} (allowed_tool_names, exposes)`;
  }
  if (bareName === undefined && entry?.isHidden === false) {
    return `renamed: "${name}" of ${backend} has the name "${prefix}${entry.name}" here`;
  }
  return `hidden: the config's tools of ${backend} hide "${name}", or protect one that differs from it only in case`;
}
