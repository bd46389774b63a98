// The states of one slot, and the only function that defines their transitions. Cold path.
//
//   state     | fork      listening  exit     drain     drained  stop
//   ----------+----------------------------------------------------------
//   waiting   | starting  .          .        stopped   .        stopped
//   starting  | .         listening  waiting  stopping  .        stopping
//   listening | .         .          waiting  draining  .        stopping
//   draining  | .         .          stopped  .         drained  stopping
//   drained   | .         .          stopped  .         .        stopping
//   stopping  | .         .          stopped  .         .        .
//   stopped   | .         .          .        .         .        .
//
// A dot: the event is too early or too late, and changes nothing. `waiting` has no process but will get one; `stopped` has none and
// never will. A worker that has not listened yet has nothing in flight, so `drain` stops it.

export type SlotState = 'waiting' | 'starting' | 'listening' | 'draining' | 'drained' | 'stopping' | 'stopped';

/** `fork`, `drain` and `stop` come from the primary, `listening` and `drained` from the worker, `exit` from either. */
export type SlotEvent = 'fork' | 'listening' | 'exit' | 'drain' | 'drained' | 'stop';

const transitions: Readonly<Record<SlotState, Readonly<Partial<Record<SlotEvent, SlotState>>>>> = {
  waiting: { fork: 'starting', drain: 'stopped', stop: 'stopped' },
  starting: { listening: 'listening', exit: 'waiting', drain: 'stopping', stop: 'stopping' },
  listening: { exit: 'waiting', drain: 'draining', stop: 'stopping' },
  draining: { exit: 'stopped', drained: 'drained', stop: 'stopping' },
  drained: { exit: 'stopped', stop: 'stopping' },
  stopping: { exit: 'stopped' },
  stopped: {},
};

/** The state after `event`; `undefined` when the event changes nothing in this state. */
export function slotStateAfter(state: SlotState, event: SlotEvent): SlotState | undefined {
  return transitions[state][event];
}
