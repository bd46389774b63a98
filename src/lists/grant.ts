// Whether a backend's resource allow-list grants a URI: because it is the URI of an allowed resource, or matches or is an allowed template.
// An entry may also be the name of a resource, whose URI is known only from the backend's lists.
import { stringValue } from '../bytes/index.js';
import { type ListKind, span, SPAN_LENGTH, type ListPage } from '../mcp/index.js';
import { isAllowed, type RuledBackend } from '../user-config/index.js';
import { isTemplate, UriMatcher } from '../messages/index.js';

/**
 * Templates of an allow-list, and of each list read from the backend, that one URI is matched against. Beyond that, further templates are
 * not tried. Each may cost 60 us for the longest URI (2.6 GHz AMD EPYC, Node 20).
 */
export const TEMPLATES_TRIED_MAX = 500;

/** Whether the entries grant the URI. @returns `unknown` when an entry may be the name of a resource or template with this URI. */
export function grantByEntries(
  { allowedNames: { resources } }: RuledBackend,
  uri: string,
): 'granted' | 'refused' | 'unknown' {
  if (resources === undefined || resources.has(uri)) return 'granted';
  if (resources.size === 0) return 'refused';
  const matched = new UriMatcher(uri);
  let triedCount = 0;
  for (const entry of resources) {
    if (!isTemplate(entry)) continue;
    if (matched.matches(entry)) return 'granted';
    triedCount += 1;
    if (triedCount === TEMPLATES_TRIED_MAX) break;
  }
  return 'unknown';
}

export interface GrantJob<Page = ListPage> {
  readonly kind: ListKind;
  readonly backend: RuledBackend;
  readonly pages: readonly Page[];
  /** The URI as the backend writes it. */
  readonly uri: string;
}

export function isGranted({ kind, backend, pages, uri }: GrantJob): boolean {
  const matched = new UriMatcher(uri);
  let triedCount = 0;
  return pages.some(({ bytes, spans }) => {
    for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
      const key = stringValue(bytes, spans[row + span.keyStart]!, spans[row + span.keyEnd]!);
      const mayTryTemplate = kind.name === 'templates' && triedCount < TEMPLATES_TRIED_MAX;
      if (key !== uri && !mayTryTemplate) continue;
      const nameStart = spans[row + span.nameStart]!;
      const name = nameStart === -1 ? undefined : stringValue(bytes, nameStart, spans[row + span.nameEnd]!);
      if (!isAllowed(backend, kind, key, name)) continue;
      if (key === uri || matched.matches(key)) return true;
      triedCount += 1;
    }
    return false;
  });
}
