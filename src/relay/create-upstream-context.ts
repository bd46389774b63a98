// Builds the one context that all upstream sessions of a relay share: connections, credentials, and who hears of changes and failures.
import { createMessageMemories } from '../fair/index.js';
import { BackendLog, OwnRequestIds, type UpstreamContext, BackendEndpoints } from '../upstream/index.js';
import { OneWayRequests } from '../http-client/index.js';
import { Credentials, createCredentials } from '../credentials/index.js';
import { listsChangedBy, type ListMerger } from '../lists/index.js';
import type { RelayOptions } from './relay-options.js';

/** @param merger is notified of list changes. */
export function createUpstreamContext(options: RelayOptions, merger: ListMerger): UpstreamContext {
  const { http, deadlines, upstream } = options;
  const nowMs = (): number => deadlines.nowMs();
  const credentials = createCredentials(upstream, options);
  return {
    http,
    streams: options.streams ?? http,
    deadlines,
    options: upstream,
    oneWayRequests: new OneWayRequests(http, deadlines),
    replies: new OneWayRequests(options.replies ?? http, deadlines, http),
    ids: new OwnRequestIds(),
    credentialsOf: (backend, subject) => Credentials.of(backend.auth, backend, subject, credentials),
    endpoints:
      options.endpoints ??
      new BackendEndpoints({ http, deadlines, connectTimeoutMs: upstream.connectTimeoutMs, nowMs }),
    answerMemory: options.answerMemory ?? createMessageMemories(options.accounts, deadlines).answers,
    nowMs,
    onChanged: (backend, method) => merger.onChanged(backend, listsChangedBy(method)),
    log: new BackendLog(options.logger, undefined, options.onBackendFault),
  };
}
