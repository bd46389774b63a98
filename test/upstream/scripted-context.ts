// The context of upstream sessions in a test: a scripted HTTP client, and a clock that the test sets.
import type { AnswerOptions, UpstreamOptions } from '../../src/config/dataplane-options.js';
import { answerOptions } from '../support/answer-options.js';
import { OneWayRequests } from '../../src/http-client/one-way-requests.js';
import { OwnRequestIds, type UpstreamContext } from '../../src/upstream/upstream-context.js';
import { Credentials } from '../../src/credentials/credentials.js';
import { Secrets } from '../../src/credentials/secrets.js';
import { type OAuthSourceDependencies, Tokens } from '../../src/credentials/oauth-source.js';
import { ConnectLinks } from '../../src/credentials/connect-links.js';
import { SecretKeys } from '../../src/credentials/secrets/secret-keys.js';
import { UserTokens } from '../../src/credentials/user-tokens.js';
import type { UpstreamOwner } from '../../src/upstream/session/upstream-session.js';
import type { UpstreamTarget } from '../../src/user-config/compiled-config.js';
import { BackendEndpoints } from '../../src/upstream/reach/backend-endpoints.js';
import type { UpstreamFaultKind } from '../../src/http-client/upstream-fault.js';
import { DeadlineWheel } from '../../src/fair/deadline-wheel.js';
import { createMessageMemories, type MessageMemory } from '../../src/fair/message-memory.js';
import { createAccounts } from '../support/shares.js';
import { ScriptedUpstream } from './scripted-upstream.js';
import { upstreamOptions } from '../support/upstream-options.js';

const TICK_MS = 10;

/** Of an upstream session: hears nothing. */
export const SILENT_OWNER: UpstreamOwner = {
  onOpened: () => undefined,
  onDropped: () => undefined,
  onProgress: () => false,
  onListChanged: () => undefined,
};

export class ScriptedContext implements UpstreamContext {
  readonly http = new ScriptedUpstream();
  readonly streams = this.http;
  options: UpstreamOptions = upstreamOptions;
  readonly answers: AnswerOptions = answerOptions;
  /** What was reported to the log, in order: a fault's kind, or `available`. */
  readonly reports: (UpstreamFaultKind | 'available')[] = [];
  readonly log: UpstreamContext['log'] = {
    lastFaultOf: () => undefined,
    onAvailable: () => void this.reports.push('available'),
    onUnavailable: (_backend, { kind }) => void this.reports.push(kind),
    onOpenFault: (_backend, { kind }) => void this.openFaults.push(kind),
    onFailure: (_backend, { kind }) => void this.failures.push(kind),
    onToolsOmitted: () => undefined,
    onExtensionConflict: () => undefined,
  };
  /** Failed attempts to open a session. */
  readonly openFaults: string[] = [];
  /** Kinds of the failures of requests. */
  readonly failures: string[] = [];
  readonly deadlines: DeadlineWheel;
  readonly oneWayRequests: OneWayRequests;
  readonly replies: OneWayRequests;
  readonly endpoints: BackendEndpoints;
  /** The next random number: at 0, delays with jitter have their full length. */
  random = 0;
  readonly ownIds = new OwnRequestIds();
  /** The credentials of a directory, when a test has one. */
  credentials: OAuthSourceDependencies;
  readonly accounts = createAccounts();
  readonly answerMemory: MessageMemory;
  onListsChanged: UpstreamContext['onListsChanged'] = undefined;
  #nowMs = 1_000;

  /** @param t the wheel is stopped at the end of this test. */
  constructor(t: { teardown(end: () => void): unknown }) {
    this.deadlines = new DeadlineWheel(TICK_MS, () => this.#nowMs);
    this.answerMemory = createMessageMemories(this.accounts, this.deadlines).answers;
    this.oneWayRequests = new OneWayRequests(this.http, this.deadlines);
    this.replies = this.oneWayRequests;
    const nowMs = (): number => this.#nowMs;
    this.credentials = {
      secrets: new Secrets(undefined, nowMs),
      tokens: new Tokens({ http: this.http }, { nowMs, random: () => this.random }),
      users: new UserTokens(
        {
          ...{ http: this.http, deadlines: this.deadlines, secrets: new Secrets(undefined, nowMs), grants: undefined },
          ...{ mode: this.options.mode, links: new ConnectLinks(undefined, new SecretKeys([])) },
        },
        { nowMs, random: () => this.random },
      ),
      mode: this.options.mode,
    };
    this.endpoints = new BackendEndpoints({
      http: this.http,
      deadlines: this.deadlines,
      connectTimeoutMs: this.options.connectTimeoutMs,
      nowMs,
      random: () => this.random,
    });
    t.teardown(() => this.deadlines.stop());
  }

  credentialsOf: UpstreamContext['credentialsOf'] = (backend, subject) =>
    Credentials.of(backend.auth, backend, subject, this.credentials);

  /** Of alice's requests: where they are sent. */
  to(target: UpstreamTarget) {
    return { subject: 'alice', target, redirection: { movedTo: undefined }, endpoint: this.endpoints.of(target) };
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** Advances the clock and runs every deadline that is due. */
  advance(ms: number): void {
    this.#nowMs += ms;
    this.deadlines.tick();
  }
}
