// Limits on the registry and the compositions of a test: the options' defaults, except for those that the test sets.
import { controlPlaneOptions, type ComposerShares } from '../../src/config/dataplane-options.js';
import { optionLoader } from '../config/option-loader.js';

export function composerShares(bounds: Partial<ComposerShares> = {}): ComposerShares {
  return { ...optionLoader('control-plane', controlPlaneOptions).load([]).composerShares, ...bounds };
}
