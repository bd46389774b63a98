// Decides whether a backend's allow-list of resources grants a URI. An entry of the allow-list is a URI, a URI template, or the name of a
// resource or template, whose URI only the backend's lists tell.
import { stringValue } from '../bytes/index.js';
import { type ListKind, span, SPAN_LENGTH, type ListPage } from '../mcp/index.js';
import { isAllowed, type RuledBackend } from '../user-config/index.js';
import { isTemplate, UriMatcher, UriTemplate } from '../messages/index.js';
import { getOrMake } from '../shared/index.js';

/**
 * The most templates of one allow-list, or of one list of a backend, that a URI is matched against. One match takes up to 60 µs (2.6 GHz
 * AMD EPYC, Node 20).
 */
export const TEMPLATES_TRIED_MAX = 500;

/** Decides by the allow-list alone. @returns `unknown` if an entry may be the name of a resource or template with this URI. */
export function grantByAllowList(
  { allowedNames: { resources } }: RuledBackend,
  uri: string,
): 'granted' | 'refused' | 'unknown' {
  if (resources === undefined || resources.has(uri)) return 'granted';
  if (resources.size === 0) return 'refused';
  const matched = new UriMatcher(uri);
  const templates = getOrMake(templatesByAllowList, resources, () => templatesIn(resources));
  return templates.some((template) => matched.matches(template)) ? 'granted' : 'unknown';
}

/** The templates of each allow-list: it may have a hundred thousand names, and is asked for each update of a resource. */
const templatesByAllowList = new WeakMap<ReadonlySet<string>, readonly UriTemplate[]>();

function templatesIn(resources: ReadonlySet<string>): readonly UriTemplate[] {
  return Array.from(resources)
    .filter(isTemplate)
    .slice(0, TEMPLATES_TRIED_MAX)
    .map((text) => new UriTemplate(text));
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
      if (key === uri || matched.matches(new UriTemplate(key))) return true;
      triedCount += 1;
    }
    return false;
  });
}
