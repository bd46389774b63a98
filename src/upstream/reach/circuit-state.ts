// The states of an origin's circuit, and the only function that defines the transitions. Cold path.
//
//   state     | fault  answered  probed     failed  forgotten
//   ----------+-----------------------------------------------
//   closed    | open   .         .          .       .
//   open      | .      closed    half-open  .       closed
//   half-open | .      closed    .          open    closed
//
// A dot: the event changes nothing in this state. Requests are sent to the origin only in `closed`.

export type CircuitState = 'closed' | 'open' | 'half-open';

/**
 * `fault`: the origin could not be reached, and has responded to no request recently. `answered`: it was reached. `probed`: the gateway's
 * own probe was sent; `failed`: the probe did not reach the origin. `forgotten`: the origin is no longer needed.
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
