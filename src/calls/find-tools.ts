// `find_tools`: searches the tools of a virtual host. All tools are read as for a list. The list thread makes a catalogue of them, searches
// it, and keeps it for the subject's next query.
import { listKinds, type ClientMessage } from '../mcp/index.js';
import { limits, rpcErrors } from '../shared/index.js';
import { hashOfIntroduction, type UpstreamContext } from '../upstream/index.js';
import { answer, answerEncoded, type Exchange, idSpanOf, metadataFor, resultMessage } from '../exchange/index.js';
import type { CatalogueIdentity, ListMerger } from '../lists/index.js';
import { readLists, type ListPlan } from './listing.js';
import { argumentsIn, FIND_TOOLS } from '../messages/index.js';
import { ownResult, type EraRules } from './era-rules.js';
import { FOUND_TOOLS_DEFAULT } from './search-tools.js';

interface FindToolsPlan extends Omit<ListPlan, 'kind'> {
  readonly toolQuery: ToolQuery;
  readonly onUnreachable: (tools: readonly string[]) => void;
}

interface ToolQuery {
  readonly query: string;
  readonly toolsMax: number;
}

/** Parses the arguments. @param message its tape, if any, must still be valid. @returns the query, or what is wrong, as a text. */
export function readToolQuery(body: Buffer, message: ClientMessage): ToolQuery | string {
  const args = argumentsIn(body, message);
  if (args.length > limits.findToolsArgumentsBytesMax)
    return `The arguments of ${FIND_TOOLS} must be smaller than ${limits.findToolsArgumentsBytesMax} bytes`;
  // This is valid JSON: the message's scanner has checked that.
  const given = (args.length === 0 ? {} : JSON.parse(args.toString())) as unknown;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return WRONG_ARGUMENTS;
  const { query, limit = FOUND_TOOLS_DEFAULT, ...others } = given as Readonly<Record<string, unknown>>;
  if (typeof query !== 'string' || query === '' || query.length > limits.toolQueryCharsMax) return WRONG_ARGUMENTS;
  const isCount = typeof limit === 'number' && Number.isInteger(limit) && limit >= 1 && limit <= limits.foundToolsMax;
  if (!isCount || Object.keys(others).length > 0) return WRONG_ARGUMENTS;
  return { query, toolsMax: limit };
}

const WRONG_ARGUMENTS = `${FIND_TOOLS} takes query, a text of 1 to ${limits.toolQueryCharsMax} characters, and limit, a whole number from 1 to ${limits.foundToolsMax}, and nothing else`;

/** Answers with the result of a failed tool. @param text for the model. */
export function answerToolError(exchange: Exchange, message: ClientMessage, text: string, rules: EraRules): void {
  exchange.watcher?.onOutcome('tool-error', '', -1);
  const content = JSON.stringify([{ type: 'text', text }]);
  const result = ownResult(rules, `"content":${content},"isError":true`);
  answer(exchange, resultMessage(idSpanOf(exchange, message), result));
}

export function findTools(context: UpstreamContext, merger: ListMerger, plan: FindToolsPlan): void {
  const identity = identityOf(plan);
  const key = merger.catalogues.find(identity);
  if (key === undefined) return findInLists(context, merger, plan);
  searchCatalogue(merger, plan, key, (isAnswered) => {
    if (isAnswered) return;
    // The list thread has died meanwhile, and the catalogue with it.
    merger.catalogues.remove(identity);
    if (plan.session.hasConfig(plan.virtualHost)) findInLists(context, merger, plan);
    else answerFailure(plan);
  });
}

/** Reads all lists into a catalogue and searches it; keeps it unless it is too large, or the config or a list has changed meanwhile. */
function findInLists(context: UpstreamContext, merger: ListMerger, plan: FindToolsPlan): void {
  const { session, virtualHost, exchange, work } = plan;
  const { subject } = session.identity;
  const kind = listKinds.tools;
  const read = merger.catalogues.beginRead(subject, virtualHost);
  merger.warmUpCatalogues(subject);
  readLists(context, merger, { kind, session, virtualHost, exchange, work }, (lists) => {
    if (typeof lists === 'string') {
      read.giveUp();
      answerFailure(plan);
      return;
    }
    const { parts, unavailable } = lists;
    merger.makeCatalogue(subject, { kind, rules: virtualHost, parts, unavailable }, (made) => {
      if (typeof made === 'string') {
        read.giveUp();
        answerFailure(plan);
        return;
      }
      plan.onUnreachable(made.unreachableNames);
      const isCurrent = session.hasConfig(virtualHost);
      if (!isCurrent) read.giveUp();
      const isKept =
        isCurrent && merger.catalogues.put(identityOf(plan), read, made.key, made.bytes, unavailable.length === 0);
      searchCatalogue(merger, plan, made.key, (isAnswered) => {
        if (!isAnswered) answerFailure(plan);
      });
      // The list thread does tasks in order: it searches the catalogue before it drops it.
      if (!isKept) merger.dropCatalogue(subject, made.key);
    });
  });
}

/** Searches a catalogue. @param done called with whether the caller has its answer. */
function searchCatalogue(
  merger: ListMerger,
  { session, exchange, work, toolQuery }: FindToolsPlan,
  key: number,
  done: (isAnswered: boolean) => void,
): void {
  const frame = work.onMerging();
  merger.searchCatalogue(session.identity.subject, { key, ...toolQuery, frame }, (message) => {
    if (typeof message === 'string') return done(false);
    session.finish(work);
    if (!work.isEndedWithSession) {
      exchange.watcher?.onOutcome('ok', '', -1);
      answerEncoded(exchange, message, undefined, work.isStreaming);
    }
    done(true);
  });
}

function answerFailure({ session, work }: FindToolsPlan): void {
  session.finish(work);
  if (!work.isEndedWithSession) work.fail(session.isEnded ? rpcErrors.listSessionEnded : rpcErrors.toolsNotSearched);
}

function identityOf({ session, virtualHost, exchange }: FindToolsPlan): CatalogueIdentity {
  const { subject, protocolVersion, introduction } = session.identity;
  const headers = Array.from(virtualHost.backends.values(), (backend) =>
    session.upstreams.of(backend).callerHeaders(metadataFor(backend, exchange.request)),
  );
  return { subject, virtualHost, callerHash: hashOfIntroduction(introduction, [protocolVersion, headers]) };
}
