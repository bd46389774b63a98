// What the dataplane's workers report about a subject at a virtual host, merged for display: what all of them agree on appears once, and
// where they differ, with the slots that said it.
import type { ExplainedBackend, Explanation, Slot } from '../api/view-types.js';
import { plainReason, reasonWords } from './reason-words.js';

export interface Statement {
  readonly words: string;
  /** `[]`: all that have responded. */
  readonly slots: readonly Slot[];
}

export interface BackendRow extends ExplainedBackend {
  readonly slot: Slot;
  /** Why the backend cannot be reached, or could not be when last tried; `''` when no failure is known. */
  readonly why: string;
}

/** The outcome that a call would have; `[]` when no tool was named and no obstacle exists. */
export function verdictsOf({ workers }: Explanation): readonly Statement[] {
  return together(workers.map(({ slot, verdict, error }) => ({ slot, words: verdict ?? error ?? '' })));
}

export interface Verdict {
  readonly isAllowed: boolean;
  readonly reason: string;
  /** What a call gets; `''` when that is not said. */
  readonly outcome: string;
}

/** The gateway speaks of user configs, which may be written by hand; who composes them here knows compositions. */
const COMPOSED = [
  [
    /^the store has no user config for this subject: every request gets/,
    'No composition is published to this user: every request gets',
  ],
  [
    /^the user config has no such virtual host: every request gets/,
    'This composition is not published to this user: every request gets',
  ],
  [/this virtual host does not have (.*) \(allowed_tool_names, exposes\)/, 'this composition does not include $1'],
  [
    /^unknown backend: this name starts with no known prefix; available:/,
    'No server of this composition has names that begin so. It has',
  ],
  [/, as its entry in the config's tools has it/, ', as curated here'],
  [/: the config's tools of (\S+) hide (".*"), or protect/, ': $2 of $1 is left out here, or the composition has'],
] as const;

/** The parts of a verdict's words: what it is, why, and what a call gets. @param isComposed the virtual host is a composition. */
export function verdictParts(verdict: string, isComposed = false): Verdict {
  const words = isComposed ? COMPOSED.reduce((text, [those, ours]) => text.replace(those, ours), verdict) : verdict;
  const [said = '', outcome = ''] = words.split('. A call gets ');
  const reason = said.replace(/^(?:not )?allowed: (.)/, (_, first: string) => first.toUpperCase());
  return { isAllowed: /(?:^|\. {2})allowed: /.test(said), reason: reasonWords(reason), outcome };
}

/** Whether the composition is not published to the user. */
export function lacksUser(explanation: Explanation): boolean {
  return verdictsOf(explanation).some(({ words }) => COMPOSED.slice(0, 2).some(([those]) => those.test(words)));
}

/** What finds the tool among those of all servers: names begin with the server's, mostly. */
export function searchFor(tool: string, { workers }: Explanation): string {
  const names = workers.flatMap(({ backends }) => backends.map(({ name }) => name));
  const owner = names.find((name) => tool.startsWith(`${name}-`));
  return owner === undefined ? tool : `${owner} ${tool.slice(owner.length + 1)}`;
}

/** Irregularities in the user config. */
export function odditiesOf({ workers }: Explanation): readonly Statement[] {
  return together(workers.map(({ slot, oddities = '' }) => ({ slot, words: oddities })));
}

/** That the user config may be out of date, because the store is lost. */
export function keptOf({ workers }: Explanation): readonly Statement[] {
  return together(
    workers.map(({ slot, kept }) => ({
      slot,
      words:
        kept === undefined
          ? ''
          : `The store is lost: the user config is as of ${kept.readAt}, used until ${kept.usedUntil}.`,
    })),
  );
}

/** Why the gateway never calls a backend, by its code. */
const OBSTACLES: Readonly<Record<string, string>> = {
  'plain-text-refused': reasonWords('plain-text HTTP needs --upstream-connection-mode plain-text-or-tls'),
  'transport-unsupported': 'its transport is not supported',
};

export function backendRowsOf({ workers }: Explanation): readonly BackendRow[] {
  return workers.flatMap(({ slot, backends }) =>
    backends.map((backend) => {
      const { obstacle, reason, lastFault, forgiven = {} } = backend;
      const last = lastFault === null ? '' : `${plainReason(lastFault.reason)} (${lastFault.at})`;
      const overlooked = Object.entries(forgiven).map(
        ([kind, count]) => `${kind.replaceAll('-', ' ')} (${count} times)`,
      );
      const odd = overlooked.length === 0 ? '' : `forgiven: ${overlooked.join(', ')}`;
      return {
        ...backend,
        slot,
        why: [(obstacle && (OBSTACLES[obstacle] ?? obstacle)) ?? (reason && reasonWords(reason)) ?? last, odd]
          .filter((words) => words !== '')
          .join('; '),
      };
    }),
  );
}

/** `''` when all have responded. Of several dataplanes, one that is silent as a whole is named by its number alone. */
export function silenceWords(slots: readonly Slot[]): string {
  if (slots.length === 0) return '';
  const names = slots.map((slot) =>
    /^\d+$/.test(String(slot)) && typeof slot === 'string' ? `dataplane ${slot}` : `process ${slot}`,
  );
  const words = names.join(', ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)} did not respond in time: the following is from the others.`;
}

/** What all of them say appears once, and where they differ, with the slots that say it. */
export function together(each: readonly { readonly slot: Slot; readonly words: string }[]): readonly Statement[] {
  const slotsOf = new Map<string, Slot[]>();
  for (const { slot, words } of each) slotsOf.set(words, [...(slotsOf.get(words) ?? []), slot]);
  const said = [...slotsOf].filter(([words]) => words !== '');
  return said.map(([words, slots]) => ({ words, slots: slotsOf.size === 1 ? [] : slots }));
}

const CONNECTIONS: Readonly<Record<string, string>> = {
  unused: 'not used yet',
  closed: 'working',
  open: 'paused after failures',
  'half-open': 'being tried again',
};

/** Whether calls are sent to the backend at present; a state unknown to this page is shown by its name. */
export function connectionWords({ obstacle, circuit }: Pick<ExplainedBackend, 'obstacle' | 'circuit'>): string {
  return obstacle === undefined ? (CONNECTIONS[circuit] ?? circuit) : 'never';
}

export function durationWords(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3_600)} h`;
}
