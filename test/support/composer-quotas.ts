// Limits on the registry and the compositions of a test: the options' defaults, except for those that the test sets.
import { controlPlaneOptions, type ComposerQuotas } from '../../src/config/dataplane-options.js';
import { optionLoader } from '../config/option-loader.js';

let defaults: ComposerQuotas | undefined;

export function composerQuotas(bounds: Partial<ComposerQuotas> = {}): ComposerQuotas {
  defaults ??= optionLoader('control-plane', controlPlaneOptions).load([]).composerQuotas;
  return { ...defaults, ...bounds };
}
