// `--against`: another build of this program, commonly of the commit before, takes the place of every yardstick. Both builds
// are measured in the same rounds, so that what the machine does meanwhile it does to both. Pure.
import type { LoadMeasure, Measure, Scenario } from './scenario.js';
import type { PlaceName } from './targets.js';

/** What a change may cost. */
export const AGAINST_GOAL = 1.03;

const placesBefore: Readonly<Partial<Record<PlaceName, PlaceName>>> = {
  gateway: 'before',
  'two-workers': 'two-workers-before',
};

/** The same scenario with nothing measured but the gateway's own figure, now and before. */
export function heldAgainstBefore(scenario: Scenario): Scenario {
  const now = scenario.measures.filter(isOfGateway);
  return {
    ...scenario,
    yardstick: 'before',
    goal: AGAINST_GOAL,
    measures: [...now, ...now.map((measure): LoadMeasure => ({ ...measure, ...placeBefore(measure) }))],
  };
}

/** Whether there is a figure that can be taken of both builds. */
export function canBeHeldAgainstBefore({ measures }: Scenario): boolean {
  return measures.some(isOfGateway);
}

function isOfGateway(measure: Measure): measure is LoadMeasure {
  return measure.kind === 'load' && measure.target === 'gateway' && placesBefore[measure.place] !== undefined;
}

function placeBefore({ place }: LoadMeasure): Pick<LoadMeasure, 'place' | 'target'> {
  const before = placesBefore[place];
  if (before === undefined) throw new Error(`${place} is no gateway of ours`);
  return { place: before, target: 'before' };
}
