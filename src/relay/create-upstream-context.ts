// Builds the one context that all upstream sessions of a relay share: connections, credentials, and the listeners for changes and failures.
import { createMessageMemories } from '../fair/index.js';
import { BackendLog, type LastFaults, OwnIds, type UpstreamContext, BackendEndpoints } from '../upstream/index.js';
import { Notices } from '../http-client/index.js';
import { createCredentials } from '../credentials/index.js';
import { listsChangedBy, type ListMerger } from '../lists/index.js';
import type { RelayOptions } from './relay-options.js';

/** @param merger is notified of list changes. @param lastFaults records each failure. */
export function createUpstreamContext(
  options: RelayOptions,
  merger: ListMerger,
  lastFaults: LastFaults,
): UpstreamContext {
  const { http, deadlines, upstream, logger } = options;
  const log = new BackendLog(logger);
  const nowMs = (): number => deadlines.nowMs();
  return {
    http,
    streams: options.streams ?? http,
    deadlines,
    options: upstream,
    notices: new Notices(http, deadlines),
    replies: new Notices(options.replies ?? http, deadlines, http),
    ids: new OwnIds(),
    credentials: createCredentials(upstream, options),
    endpoints:
      options.endpoints ??
      new BackendEndpoints({ http, deadlines, connectTimeoutMs: upstream.connectTimeoutMs, nowMs }),
    answerMemory: options.answerMemory ?? createMessageMemories(options.accounts, deadlines).answers,
    nowMs,
    onChanged: (backend, method) => merger.onChanged(backend, listsChangedBy(method)),
    onToolsLeftOut: (backend, tools) => log.onToolsLeftOut(backend, tools),
    onExtensionsDiffering: (virtualHost, extensions) => log.onExtensionsDiffering(virtualHost, extensions),
    onAvailable: (backend) => log.onAvailable(backend),
    onUnavailable: (backend, fault) => {
      lastFaults.note(backend, fault, 'opening');
      log.onUnavailable(backend, fault);
    },
    onOpenFault: (backend, fault) => options.onBackendFault?.(backend.name, fault.kind, 'opening'),
    onFailure: (backend, fault) => {
      options.onBackendFault?.(backend.name, fault.kind, 'request');
      lastFaults.note(backend, fault, 'request');
      log.onFailure(backend, fault);
    },
  };
}
