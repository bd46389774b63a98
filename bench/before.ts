// `--against`: another build of this program, usually of the commit before, replaces every yardstick. Both builds are
// measured in the same rounds, so that other load on the machine affects both alike. Pure.
import type { LoadMeasure, Measure, Scenario } from './scenario.js';
import type { PlaceName } from './targets.js';

/** The highest ratio that a change may have. */
export const AGAINST_GOAL = 1.03;

const placesBefore: Readonly<Partial<Record<PlaceName, PlaceName>>> = {
  gateway: 'before',
  'two-workers': 'two-workers-before',
};

/** The same scenario, limited to the gateway's own figure, now and before. */
export function heldAgainstBefore(scenario: Scenario): Scenario {
  const now = scenario.measures.filter(isOfGateway);
  return {
    ...scenario,
    yardstick: 'before',
    goal: AGAINST_GOAL,
    measures: [...now, ...now.map((measure): LoadMeasure => ({ ...measure, ...placeBefore(measure) }))],
  };
}

/** Whether the scenario has a figure that both builds can be measured for. */
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
