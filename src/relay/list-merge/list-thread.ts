// The list thread's own code: what piscina runs by name, one task at a time.
import { constants, getPriority, setPriority } from 'node:os';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { readToolAnswer } from '../../protocol/tool-page.js';
import { mergeTools } from './merge.js';
import {
  joined,
  receiveJob,
  sendList,
  sendPage,
  type Handover,
  type MergeTask,
  type ReadTask,
} from './thread-tasks.js';

// On Linux a thread has a priority of its own: where both want one core, the event loop goes first. Elsewhere this would
// be the whole process's.
if (process.platform === 'linux') {
  const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
  setPriority(Math.min(getPriority() + PRIORITY_BELOW_NORMAL, PRIORITY_LOW));
}

export function readAnswer({ pieces, id }: ReadTask): unknown {
  const answer = readToolAnswer(joined(pieces), Buffer.from(id));
  return answer.kind === 'page' ? moved(sendPage(answer.page, answer.nextCursor)) : answer;
}

export function merge(task: MergeTask): unknown {
  return moved(sendList(mergeTools(receiveJob(task))));
}

/** In piscina's words. */
function moved(handover: Handover<unknown>): unknown {
  return move({ [transferableSymbol]: handover.memory, [valueSymbol]: handover.message as object });
}
