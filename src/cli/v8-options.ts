// Reads which options of V8 the operator gave.

/** V8 takes dashes and underscores alike, in arguments and in NODE_OPTIONS. */
const GROWTH_FACTOR = /(?:^|[\s"])--semi[-_]space[-_]growth[-_]factor(?:[=\s"]|$)/

export function setsGrowthFactor(args: readonly string[], nodeOptions = ''): boolean {
  return [...args, nodeOptions].some((text) => GROWTH_FACTOR.test(text))
}
