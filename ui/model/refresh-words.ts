// The findings of a refresh, in a sentence.
import type { RefreshReport } from '../api/types.js';
import { reasonWords } from './reason-words.js';

export function refreshWords(report: RefreshReport): string {
  if (report.error !== undefined) return `It could not be read: ${reasonWords(report.error)}`;
  const { toolsAdded, toolsUpdated, toolsRemoved, durationMs } = report;
  const changes = [
    [toolsAdded, 'added'],
    [toolsUpdated, 'changed'],
    [toolsRemoved, 'removed'],
  ] as const;
  const told = changes.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`);
  return `Read in ${durationMs} ms. Tools: ${told.length === 0 ? 'nothing has changed' : told.join(', ')}`;
}
