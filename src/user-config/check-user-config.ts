// Checks a user config before it is stored: finds what the dataplane would refuse or ignore, and valid members that are probably mistakes.
import type { ConfigIssue } from './known-members.js';
import { oddNameIssues } from './curation-schema.js';
import { issuesOfBackends, readUserConfig, type BackendConfig } from './user-config-schema.js';

/** The most errors, and the most warnings, that are reported for one config. */
export const CONFIG_CHECK_ISSUES_MAX = 100;

export interface UserConfigCheck {
  /** What the dataplane would refuse or ignore. */
  readonly errors: readonly ConfigIssue[];
  /** Valid members that are probably mistakes. */
  readonly warnings: readonly ConfigIssue[];
  /** How many errors and warnings are left out, because there are too many. */
  readonly untoldCount: number;
}

export function checkUserConfig(bytes: Buffer): UserConfigCheck {
  const { config, faults, oddities } = readUserConfig(bytes);
  const errors = [...faults, ...oddities];
  const warnings = config === undefined ? [] : issuesOfBackends(config, warningsOf);
  const shown = {
    errors: errors.slice(0, CONFIG_CHECK_ISSUES_MAX),
    warnings: warnings.slice(0, CONFIG_CHECK_ISSUES_MAX),
  };
  const shownCount = shown.errors.length + shown.warnings.length;
  return { ...shown, untoldCount: errors.length + warnings.length - shownCount };
}

function warningsOf(name: string, backend: BackendConfig): ConfigIssue[] {
  const warnings = oddNameIssues(name, backend);
  const { transport, url, exposes, passthrough_headers: passthroughHeaders, auth } = backend;
  if (transport === 'STDIO') warnings.push({ path: ['transport'], message: 'is STDIO, which is not supported' });
  else if (url.toLowerCase().startsWith('http:')) {
    const message = 'is plain text: refused unless the dataplane has --upstream-connection-mode plain-text-or-tls';
    warnings.push({ path: ['url'], message });
  }
  if (auth === undefined && passthroughHeaders.some((header) => header.toLowerCase() === 'authorization')) {
    const message = "has authorization: the backend would get the caller's token for the gateway; use `auth` instead";
    warnings.push({ path: ['passthrough_headers'], message });
  }
  if (exposes?.length === 0)
    warnings.push({ path: ['exposes'], message: 'is empty: nothing of this backend is exposed' });
  for (const [kind, list] of ALLOW_LISTS) {
    if (backend[list].length > 0 && exposes?.includes(kind) === false)
      warnings.push({ path: [list], message: `has no effect, because exposes does not have ${kind}` });
  }
  return warnings;
}

const ALLOW_LISTS = [
  ['tools', 'allowed_tool_names'],
  ['prompts', 'allowed_prompt_names'],
  ['resources', 'allowed_resource_names'],
] as const;
