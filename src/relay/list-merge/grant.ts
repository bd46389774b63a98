// Whether a backend's allow-list of resources lets a URI be reached: as that of an allowed resource, or as one that an
// allowed template makes, or is. Entries may be names, which only the backend's own lists tell the URIs of.
import { stringValue } from '../../protocol/json-member.js';
import type { ListKind } from '../../protocol/list-kinds.js';
import { span, SPAN_LENGTH, type ListPage } from '../../protocol/list-page.js';
import { isAllowed } from '../routing.js';
import { isTemplate, matchesTemplate } from '../uri-template.js';
import type { RuledBackend } from './list-rules.js';

/** @returns `unknown` when entries may be names of what has or makes the URI. */
export function grantByEntries({ allowedNames: { resources } }: RuledBackend, uri: string): 'granted' | 'unknown' {
  if (resources === undefined || resources.has(uri)) return 'granted';
  for (const entry of resources) if (isTemplate(entry) && matchesTemplate(uri, entry)) return 'granted';
  return 'unknown';
}

export interface GrantJob<Page = ListPage> {
  readonly kind: ListKind;
  readonly backend: RuledBackend;
  readonly pages: readonly Page[];
  /** The backend's. */
  readonly uri: string;
}

/** Whether something on the pages is allowed that has or makes the URI. */
export function isGranted({ kind, backend, pages, uri }: GrantJob): boolean {
  return pages.some(({ bytes, spans }) => {
    for (let row = 0; row < spans.length; row += SPAN_LENGTH) {
      const key = stringValue(bytes, spans[row + span.keyStart]!, spans[row + span.keyEnd]!);
      if (key !== uri && !(kind.name === 'templates' && matchesTemplate(uri, key))) continue;
      const nameStart = spans[row + span.nameStart]!;
      const name = nameStart === -1 ? undefined : stringValue(bytes, nameStart, spans[row + span.nameEnd]!);
      if (isAllowed(backend, kind, key, name)) return true;
    }
    return false;
  });
}
