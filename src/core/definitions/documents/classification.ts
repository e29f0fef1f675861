// How confidential something is: the instances of a workflow, or a field of the events of a source.

export const CLASSIFICATIONS = ['public', 'internal', 'confidential', 'restricted'] as const
export type Classification = (typeof CLASSIFICATIONS)[number]
