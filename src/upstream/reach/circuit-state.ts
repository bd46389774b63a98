// The states of an origin's circuit, and the only function that says which follows which. Cold.
//
//   state     | fault  answered  probed     failed  forgotten
//   ----------+-----------------------------------------------
//   closed    | open   .         .          .       .
//   open      | .      closed    half-open  .       closed
//   half-open | .      closed    .          open    closed
//
// A dot: the event changes nothing in this state. Only in `closed` are requests sent to the origin.

export type CircuitState = 'closed' | 'open' | 'half-open';

/**
 * `fault`: the origin could not be reached, and has answered nobody of late. `answered`: it was reached. `probed`: the
 * gateway's own probe is on its way; `failed`: it did not arrive. `forgotten`: nobody asks for the origin any more.
 */
export type CircuitEvent = 'fault' | 'answered' | 'probed' | 'failed' | 'forgotten';

const transitions: Readonly<Record<CircuitState, Readonly<Partial<Record<CircuitEvent, CircuitState>>>>> = {
  closed: { fault: 'open' },
  open: { answered: 'closed', probed: 'half-open', forgotten: 'closed' },
  'half-open': { answered: 'closed', failed: 'open', forgotten: 'closed' },
};

/** The state after `event`; `undefined` when the event changes nothing in this state. */
export function circuitStateAfter(state: CircuitState, event: CircuitEvent): CircuitState | undefined {
  return transitions[state][event];
}
