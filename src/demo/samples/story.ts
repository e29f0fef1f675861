// The subjects of the samples: a small company that builds mills, its repositories, people and troubles. Everything is
// chosen by number, so that the same number is always the same sample.

export const REPOSITORIES = [
  { id: 4201, full_name: 'acme/mill' },
  { id: 4202, full_name: 'acme/water-wheel' },
  { id: 4203, full_name: 'acme/grain-store' },
] as const

export const PEOPLE = ['mona', 'tomas', 'ayesha', 'li-wei', 'ingrid', 'kofi'] as const

export const TITLES = [
  'The wheel squeaks when the water is cold',
  'Grain sensor reports a negative weight',
  'Sluice gate opens twice on a slow network',
  'Add the flow rate to the daily report',
  'Bearing temperature is shown in the wrong unit',
  'Night shift cannot sign in after the update',
  'Order 1042 was milled as rye instead of wheat',
  'Dashboard is empty in the first minute of the day',
  'Document how to grease the main shaft',
  'Pump stops when two valves close at once',
] as const

/** Longer than the tracker's 120 characters: it is refused, and can be shortened and replayed. */
export const LONG_TITLE =
  'The flour conveyor stops for about a minute whenever somebody opens the inspection hatch, and afterwards the counter of ' +
  'the day starts again from zero, although nothing was emptied'

export const COMMENTS = [
  'I can see this too, since Tuesday.',
  'A drop of oil helped for now.',
  'Is there a log from the night shift?',
  'Fixed on my machine; please try the new build.',
  'It only happens with the second valve.',
] as const

export const LABELS = ['bug', 'urgent', 'question', 'documentation'] as const

export function pick<Item>(list: readonly Item[], number: number): Item {
  return list[((number % list.length) + list.length) % list.length] as Item
}
