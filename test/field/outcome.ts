// What a session through the gateway was like, compared with one directly: each step's outcome, with the gateway's prefixes taken away.
import type { Plan, Report, Step, StepReport } from './plan.js';

/** The backend's name in the gateway's config, which is the prefix of its names and URIs. */
export const BACKEND = 'one';

/** How many steps were alike; what went better, and what went worse, through the gateway. */
export interface Outcome {
  readonly alikeCount: number;
  readonly better: readonly string[];
  readonly worse: readonly string[];
  /** Why there is no session directly, and none through the gateway. */
  readonly neither: string | undefined;
}

/** The steps with the names and URIs that they have through the gateway. */
export function prefixed(plan: Plan): Plan {
  const steps = plan.steps.map(([step, name, words]): Step => {
    if (name === undefined) return [step];
    const known = step === 'read' ? `${BACKEND}+${name}` : `${BACKEND}-${name}`;
    return words === undefined ? [step, known] : [step, known, words];
  });
  return { ...plan, steps };
}

export function outcomeOf({ steps }: Plan, direct: Report, through: Report): Outcome {
  const [better, worse]: [string[], string[]] = [[], []];
  let alikeCount = 0;
  for (const [at, [step, name = '']] of steps.entries()) {
    const [one, other] = [reportOf(direct, at), reportOf(through, at)];
    const label = name === '' ? step : `${step} ${name}`;
    const difference = differenceOf(one, other, LISTINGS.includes(step));
    if (difference === undefined) alikeCount += isWorking(one) ? 1 : 0;
    else if (isWorking(other) && (!isWorking(one) || isLess(one, other, step))) better.push(label);
    else worse.push(`${label}: ${difference}`);
  }
  const isNeither = [direct, through].every(({ steps }) => !steps.some(isWorking));
  return { alikeCount, better, worse, neither: isNeither ? wordsOf(reportOf(direct, 0)) : undefined };
}

function reportOf({ steps, ended = 'the client reports nothing' }: Report, at: number): StepReport {
  return steps[at] ?? { error: ended };
}

/** A refusal in a result counts as an answer here: it is compared to the letter. */
function isWorking({ value }: StepReport): boolean {
  return value !== undefined;
}

/** A call of whose reports of progress some never came, or a list of which the client read one page. */
function isLess({ value: one }: StepReport, { value: other }: StepReport, step: string): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return false;
  const [some, all] = (step === 'progress' ? [one[1], other[1]] : [one, other]) as [unknown[], unknown[]];
  const known = new Set(all.map((each) => JSON.stringify(bare(each))));
  return (
    (step === 'progress' || LISTINGS.includes(step)) && some.every((each) => known.has(JSON.stringify(bare(each))))
  );
}

/** Two failures are alike: their words are the client's own, and name its URL. A list of nothing is no better than a failure. */
function differenceOf(direct: StepReport, through: StepReport, isListing: boolean): string | undefined {
  if (!isWorking(direct) && (!isWorking(through) || (isListing && textOf(through.value, true) === '')))
    return undefined;
  if (!isWorking(direct) || !isWorking(through)) return /Backend ".*/.exec(wordsOf(through))?.[0] ?? wordsOf(through);
  const [one, other] = [direct, through].map(({ value }) => textOf(value, isListing)) as [string, string];
  if (one === other) return undefined;
  const at = [...one].findIndex((letter, place) => letter !== other[place]);
  const start = Math.max(0, at - CONTEXT / 2);
  return `…${other.slice(start, start + 2 * CONTEXT)}… in place of …${one.slice(start, start + 2 * CONTEXT)}…`;
}

/** The gateway lists in an order of its own. */
function textOf(value: unknown, isListing: boolean): string {
  if (!isListing || !Array.isArray(value)) return JSON.stringify(bare(value));
  return value
    .map((each) => JSON.stringify(bare(each)))
    .sort()
    .join();
}

const LISTINGS = ['tools', 'prompts', 'resources', 'templates'];
const CONTEXT = 60;
const WORDS_MAX = 200;

export function wordsOf({ value, error, lacks }: StepReport): string {
  if (lacks !== undefined) return `the client has no ${lacks}`;
  const words = error ?? JSON.stringify(value) ?? 'nothing';
  return words.replaceAll(/\s+/g, ' ').replace(/\\"/g, '"').slice(0, WORDS_MAX);
}

/** What one era alone has in results and tools, and ids that a client makes up. */
const OWN = /^(ttlMs|cacheScope|resultType|execution|id=lc_.*)$/;

/** Without prefixes, in one order: some clients list members in an order of their own. */
function bare(value: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map((each) => bare(each));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).filter(
      ([name, own]) => !OWN.test(name) && !OWN.test(`${name}=${String(own)}`),
    );
    entries.sort(([one], [other]) => (one < other ? -1 : 1));
    return Object.fromEntries(entries.map(([name, own]) => [name, bare(own, name)]));
  }
  if (typeof value !== 'string') return value;
  const prefix = key === 'name' ? `${BACKEND}-` : `${BACKEND}+`;
  return value.startsWith(prefix) ? value.slice(prefix.length) : value;
}
