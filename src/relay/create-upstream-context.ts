// Builds the one context that all upstream sessions of a relay share: connections, credentials, and the listeners for changes and failures.
import { SecretKeys } from '../secrets/secret-keys.js';
import { createMessageMemories } from '../shared/message-memory.js';
import { BackendLog, type LastFaults } from '../upstream/backend-log.js';
import { ConnectLinks } from '../upstream/credentials/connect-links.js';
import { Tokens } from '../upstream/credentials/tokens.js';
import { UserTokens } from '../upstream/credentials/user-tokens.js';
import { Notices } from '../upstream/http/notices.js';
import { OwnIds, type UpstreamContext } from '../upstream/upstream-context.js';
import { BackendEndpoints } from '../upstream/reach/backend-endpoints.js';
import { Secrets } from '../upstream/credentials/secrets.js';
import { listsChangedBy } from './list-merge/kept-lists.js';
import type { ListMerger } from './list-merge/list-merger.js';
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
  const secrets = new Secrets(upstream.secretsDirectory, nowMs, options.storedSecrets);
  const { mode } = upstream;
  const links = new ConnectLinks(upstream.connectUrl, new SecretKeys(upstream.secretKeys));
  const grants = options.userGrants;
  return {
    http,
    streams: options.streams ?? http,
    deadlines,
    options: upstream,
    notices: new Notices(http, deadlines),
    replies: new Notices(options.replies ?? http, deadlines, http),
    ids: new OwnIds(),
    credentials: {
      secrets,
      tokens: new Tokens({ http, deadlines }, { nowMs, random: Math.random }),
      users: new UserTokens(
        { http, deadlines, secrets, mode, links, grants },
        { nowMs: Date.now, random: Math.random },
      ),
      mode,
    },
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
