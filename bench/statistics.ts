// The arithmetic of the benches: medians and spreads of rounds, and ratios taken round by round. Pure; has its own tests.

export interface Spread {
  readonly minimum: number;
  readonly median: number;
  readonly maximum: number;
}

/** The middle value, or the mean of the two middle ones. Throws on no values: a bench without rounds has no median. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  if (upper === undefined || lower === undefined) throw new Error('no values to take a median of');
  return (lower + upper) / 2;
}

export function spread(values: readonly number[]): Spread {
  return { minimum: Math.min(...values), median: median(values), maximum: Math.max(...values) };
}

/** A figure of one round, such as the cost per call of one target. */
export interface RoundFigure {
  readonly round: number;
  readonly value: number;
}

/**
 * Each round's figure over the yardstick's figure of the same round: other load in a minute affects both, but not the ratio. Rounds that
 * only one of the two has, and yardsticks of zero, are left out.
 */
export function ratios(figures: readonly RoundFigure[], yardstick: readonly RoundFigure[]): number[] {
  const yardstickByRound = new Map(yardstick.map(({ round, value }) => [round, value]));
  return figures.flatMap(({ round, value }) => {
    const unit = yardstickByRound.get(round);
    return unit === undefined || unit === 0 ? [] : [value / unit];
  });
}

/** Each round's two figures added. Rounds that only one of the two has are left out. */
export function sums(figures: readonly RoundFigure[], more: readonly RoundFigure[]): RoundFigure[] {
  const moreByRound = new Map(more.map(({ round, value }) => [round, value]));
  return figures.flatMap(({ round, value }) => {
    const added = moreByRound.get(round);
    return added === undefined ? [] : [{ round, value: value + added }];
  });
}
