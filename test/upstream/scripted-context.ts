// The context of upstream sessions in a test: a scripted HTTP client, and a clock that goes on when the test says so.
import type { AnswerOptions, UpstreamOptions } from '../../src/config/dataplane-options.js';
import { answerOptions } from '../support/answer-options.js';
import { Notices } from '../../src/upstream/http/notices.js';
import { OwnIds } from '../../src/upstream/own-ids.js';
import { Secrets } from '../../src/upstream/credentials/secrets.js';
import type { OAuthSourceMeans } from '../../src/upstream/credentials/oauth-source.js';
import { ConnectLinks } from '../../src/upstream/credentials/connect-links.js';
import { SecretKeys } from '../../src/secrets/secret-keys.js';
import { UserTokens } from '../../src/upstream/credentials/user-tokens.js';
import { Tokens } from '../../src/upstream/credentials/tokens.js';
import { Endpoints } from '../../src/upstream/reach/endpoints.js';
import type { Endpoint } from '../../src/upstream/reach/endpoint.js';
import type { UpstreamTarget } from '../../src/user-config/upstream-target.js';
import type { UpstreamContext } from '../../src/upstream/upstream-context.js';
import type { UpstreamFault, UpstreamFaultKind } from '../../src/upstream/http/upstream-fault.js';
import { DeadlineWheel } from '../../src/shared/deadline-wheel.js';
import { createMessageMemories, type MessageMemory } from '../../src/shared/message-memory.js';
import { createAccounts } from '../support/shares.js';
import type { CompiledBackend } from '../../src/user-config/compiled-config.js';
import { ScriptedUpstream } from './scripted-upstream.js';
import { upstreamOptions } from '../support/upstream-options.js';

const TICK_MS = 10;

export class ScriptedContext implements UpstreamContext {
  readonly http = new ScriptedUpstream();
  readonly streams = this.http;
  options: UpstreamOptions = upstreamOptions;
  readonly answers: AnswerOptions = answerOptions;
  /** What was said for the log, in order: a fault's kind, or `available`. */
  readonly reports: (UpstreamFaultKind | 'available')[] = [];
  /** Tries to open a session that have failed. */
  readonly openFaults: string[] = [];
  /** Kinds of requests' failures. */
  readonly failures: string[] = [];
  readonly deadlines: DeadlineWheel;
  readonly notices: Notices;
  readonly replies: Notices;
  readonly endpoints: Endpoints;
  /** What chance says next: delays with a jitter are as long as they can be. */
  random = 0;
  readonly ids = new OwnIds();
  /** Those of a directory, when a test has one. */
  credentials: OAuthSourceMeans;
  readonly answerMemory: MessageMemory;
  /** Backends are asked what they speak; without this each was a moment ago. */
  onChanged: UpstreamContext['onChanged'] = undefined;
  asksEras = false;
  #nowMs = 1_000;

  /** @param t the wheel ends with the test. */
  constructor(t: { teardown(end: () => void): unknown }) {
    this.deadlines = new DeadlineWheel(TICK_MS, () => this.#nowMs);
    this.answerMemory = createMessageMemories(createAccounts(), this.deadlines).answers;
    this.notices = new Notices(this.http, this.deadlines);
    this.replies = this.notices;
    const nowMs = (): number => this.#nowMs;
    const isAsking = (): boolean => this.asksEras;
    this.credentials = {
      secrets: new Secrets(undefined, nowMs),
      tokens: new Tokens({ http: this.http, deadlines: this.deadlines }, { nowMs, random: () => this.random }),
      users: new UserTokens(
        {
          ...{ http: this.http, deadlines: this.deadlines, secrets: new Secrets(undefined, nowMs), grants: undefined },
          ...{ mode: this.options.mode, links: new ConnectLinks(undefined, new SecretKeys([])) },
        },
        { nowMs, random: () => this.random },
      ),
      mode: this.options.mode,
    };
    this.endpoints = new (class extends Endpoints {
      override of(target: UpstreamTarget): Endpoint {
        const endpoint = super.of(target);
        if (!isAsking()) endpoint.eras.tryAsk(nowMs());
        return endpoint;
      }
    })({
      http: this.http,
      deadlines: this.deadlines,
      connectTimeoutMs: this.options.connectTimeoutMs,
      nowMs,
      random: () => this.random,
    });
    t.teardown(() => this.deadlines.stop());
  }

  nowMs(): number {
    return this.#nowMs;
  }

  /** Lets time pass; whatever is due is called back. */
  advance(ms: number): void {
    this.#nowMs += ms;
    this.deadlines.tick();
  }

  onAvailable(_backend: CompiledBackend): void {
    this.reports.push('available');
  }

  onUnavailable(_backend: CompiledBackend, fault: UpstreamFault): void {
    this.reports.push(fault.kind);
  }

  onOpenFault(_backend: CompiledBackend, fault: UpstreamFault): void {
    this.openFaults.push(fault.kind);
  }

  onFailure(_backend: CompiledBackend, fault: UpstreamFault): void {
    this.failures.push(fault.kind);
  }
}
