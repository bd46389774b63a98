// Checks a request for a prompt, a resource, a completion or a task, once the upstream session is open: the backend must have declared the
// capability, and the allow-list of resources must grant the URI. A resource that is not granted is answered like one that does not exist.
// Tools need no check.
import { listKinds, type ListKind } from '../mcp/index.js';
import { rpcErrors, type RpcError } from '../shared/index.js';
import type { CompiledBackend } from '../user-config/index.js';
import { grantByAllowList, type ListMerger, ListPages } from '../lists/index.js';
import type { Session } from '../session/index.js';
import type { UpstreamContext, UpstreamSession } from '../upstream/index.js';
import { upstreamFault, type UpstreamFault, type RequestMetadata } from '../http-client/index.js';

export interface GateRules {
  readonly method: string;
  /** The capability that the backend must have declared: a bit of `capability`. */
  readonly capability: number;
  /** The backend's URI, which must be granted, if the request is for a resource. */
  readonly uri: string | undefined;
  /** The answer if the target does not exist, or is not granted. */
  readonly notFound: RpcError;
}

/**
 * Why a request that has passed the check may not continue when it is made again, perhaps under another config; `undefined` if it may.
 * @param passedAllowList hash of the allow-list of resources under which it has passed.
 */
export function obstacleToRetry(
  rules: GateRules | undefined,
  backend: CompiledBackend,
  passedAllowList: string | undefined,
): RpcError | undefined {
  const grant = rules?.uri === undefined ? 'granted' : grantByAllowList(backend, rules.uri);
  if (grant === 'refused') return rules?.notFound;
  return grant === 'granted' || backend.listHashes.resourceNames === passedAllowList
    ? undefined
    : rpcErrors.allowListChanged;
}

/** Called once: with `undefined` if the request may be sent, `nothing` if its result is empty, else the error or fault to answer. */
type GateHandler = (obstacle: RpcError | UpstreamFault | 'nothing' | undefined) => void;

export class Gate {
  readonly #context: UpstreamContext;
  readonly #merger: ListMerger;
  readonly #session: Session;
  readonly #rules: GateRules;
  #reader: ListPages | undefined;
  #isAborted = false;

  constructor(context: UpstreamContext, merger: ListMerger, session: Session, rules: GateRules) {
    this.#context = context;
    this.#merger = merger;
    this.#session = session;
    this.#rules = rules;
  }

  /** Checks a request. @param upstream must be open. @param done may be called synchronously. */
  check(upstream: UpstreamSession, metadata: RequestMetadata, done: GateHandler): void {
    const { capability, method, notFound } = this.#rules;
    if (((upstream.record?.capabilities ?? 0) & capability) === 0) {
      const isUndeclared = this.#session.upstreams.declares(capability) === 'no';
      // Not an error: clients ask for completions wherever any backend has them, and stop asking in the whole session after an error.
      const obstacle = method === 'completion/complete' ? 'nothing' : notFound;
      done(isUndeclared ? rpcErrors.methodNotFound(method) : obstacle);
      return;
    }
    const uri = this.#isUnsubscribing(upstream) ? undefined : this.#rules.uri;
    const grant = uri === undefined ? 'granted' : grantByAllowList(upstream.backend, uri);
    if (uri === undefined || grant === 'granted') {
      done(undefined);
    } else if (grant === 'refused') {
      done(notFound);
    } else {
      this.#lookUp(listKinds.resources, upstream, uri, metadata, (outcome) => {
        if (outcome === notFound && !this.#isAborted) this.#lookUp(listKinds.templates, upstream, uri, metadata, done);
        else done(outcome);
      });
    }
  }

  /** Whether the request ends a subscription, which is always allowed, even if the resource has left the list. */
  #isUnsubscribing({ backend }: UpstreamSession): boolean {
    const { method, uri } = this.#rules;
    return (
      method === 'resources/unsubscribe' && uri !== undefined && this.#session.subscriptions.has(backend.name, uri)
    );
  }

  abort(): void {
    this.#isAborted = true;
    this.#reader?.abort();
  }

  #lookUp(kind: ListKind, upstream: UpstreamSession, uri: string, metadata: RequestMetadata, done: GateHandler): void {
    const { backend } = upstream;
    this.#reader = new ListPages(this.#context, this.#merger, kind, upstream, metadata, (pages, fault) => {
      this.#reader = undefined;
      if (fault !== undefined && pages.length === 0) done(fault);
      else
        this.#merger.checkGrant(upstream.subject, { kind, backend, pages, uri }, (outcome) => {
          if (typeof outcome === 'string')
            done(upstreamFault(outcome === 'overdue' ? 'answer-timeout' : 'answer-unread'));
          else done(outcome ? undefined : this.#rules.notFound);
        });
    });
    this.#reader.start();
  }
}
