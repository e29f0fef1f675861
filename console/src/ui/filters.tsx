// What narrows a list, declared once; it stays in the address. Names and values are those of the API's operation, and the types
// require it.

import { X } from 'lucide-react'
import { type ReactNode, useMemo } from 'react'
import { useLocation, useSearch } from 'wouter'
import { withSearch } from '../lib/links.ts'
import { useDefinitions, useOverview } from '../queries.ts'
import type { Args, Failure, ListName, Overview } from '../types.ts'
import { Button, Tabs } from './controls.tsx'
import { SearchInput } from './search.tsx'

function useNames(kind: 'Route' | 'Source'): readonly string[] {
  const { data } = useDefinitions(kind)
  return data?.items.map(({ name }) => name) ?? []
}
export const useRouteNames = () => useNames('Route')
export const useSourceNames = () => useNames('Source')

/** The class as shown to users. */
export const classInWords = (name: string): string => name.replaceAll('_', ' ')

const CLASSES: readonly Failure['class'][] = [
  'transient',
  'rate_limited',
  'auth',
  'config',
  'validation',
  'poison',
  'unknown',
]

export const CLASS_CHOICES = CLASSES.map((name) => [name, classInWords(name)] as const)

/** A condition that came with the address, and a button that removes it. */
function Condition({ text, onRemove }: { readonly text: string; readonly onRemove: () => void }) {
  return (
    <Button isSmall icon={<X size={13} aria-hidden />} onClick={onRemove} title="Show all">
      {text}
    </Button>
  )
}

interface FilterProps {
  readonly value: string
  readonly onChange: (value: string) => void
}

type ChoiceList = readonly (readonly [value: string, label: string])[]
type CountName = keyof Overview['counts'] & keyof Overview['isCapped']
/** What a tab shows beside its label. */
type TabCounts = Readonly<Record<string, ReactNode>>

export type Filter = { readonly name: string } & (
  | {
      readonly as: 'tabs'
      readonly label: string
      readonly choices: ChoiceList
      /** The first tab, for everything; omitted: the first of the choices applies if nothing is said. */
      readonly all?: string
      readonly useCounts?: () => TabCounts
    }
  | { readonly as: 'choice'; readonly label: string; readonly all: string; readonly choices: ChoiceList }
  /** Names that the node has, such as routes. */
  | {
      readonly as: 'name'
      readonly label: string
      readonly all: string
      readonly useNames: () => readonly string[]
    }
  | { readonly as: 'search'; readonly label: string; readonly placeholder: string }
  /** A box to check. */
  | { readonly as: 'flag'; readonly label: string }
  /** It comes with the address and can be removed. */
  | { readonly as: 'condition'; readonly inWords: (value: string) => string }
  | { readonly as: 'own'; readonly Show: (props: FilterProps) => ReactNode }
)
type Tabbed = Extract<Filter, { readonly as: 'tabs' }>

type NameOf<Given> = keyof Given & string
type Choices<Given, Name extends NameOf<Given>> = readonly (readonly [
  NonNullable<Given[Name]> & string,
  string,
])[]

const makersOf = <Given,>() => ({
  tabs: <Name extends NameOf<Given>>(
    name: Name,
    label: string,
    choices: Choices<Given, Name>,
    more: Pick<Tabbed, 'all' | 'useCounts'> = {},
  ): Filter => ({ as: 'tabs', name, label, choices, ...more }),
  choice: <Name extends NameOf<Given>>(
    name: Name,
    label: string,
    all: string,
    choices: Choices<Given, Name>,
  ): Filter => ({ as: 'choice', name, label, all, choices }),
  name: (name: NameOf<Given>, label: string, all: string, useNames: () => readonly string[]): Filter => ({
    as: 'name',
    name,
    label,
    all,
    useNames,
  }),
  search: (name: NameOf<Given>, label: string, placeholder: string): Filter => ({
    as: 'search',
    name,
    label,
    placeholder,
  }),
  flag: (name: NameOf<Given>, label: string): Filter => ({ as: 'flag', name, label }),
  condition: (name: NameOf<Given>, inWords: (value: string) => string): Filter => ({
    as: 'condition',
    name,
    inWords,
  }),
  own: (name: NameOf<Given>, Show: (props: FilterProps) => ReactNode): Filter => ({ as: 'own', name, Show }),
})

/** What makes the filters of a list: their names and values are those of the API. */
export const filtersOf = <List extends ListName>(_: List) => makersOf<Args<List>>()
/** The same for a list whose operation has no filters: the page applies them. */
export const filtersOnPage = makersOf<FilterValues>()

type Shown<As extends Filter['as']> = FilterProps & { readonly filter: Extract<Filter, { readonly as: As }> }

function FilterField({ filter, ...rest }: FilterProps & { readonly filter: Filter }): ReactNode {
  switch (filter.as) {
    case 'tabs':
      return <TabsFilter filter={filter} {...rest} />
    case 'choice':
      return <Select {...filter} {...rest} />
    case 'name':
      return <NameFilter filter={filter} {...rest} />
    case 'search':
      return <SearchInput {...filter} {...rest} />
    case 'flag':
      return (
        <label className="check">
          <input
            type="checkbox"
            checked={rest.value === 'true'}
            onChange={(event) => rest.onChange(event.target.checked ? 'true' : '')}
          />
          {filter.label}
        </label>
      )
    case 'condition':
      if (rest.value === '') return null
      return <Condition text={filter.inWords(rest.value)} onRemove={() => rest.onChange('')} />
    case 'own':
      return <filter.Show {...rest} />
  }
}

const noCounts = (): TabCounts => ({})

/** Of the overview, which counts up to a limit. */
export function overviewCounts(names: Readonly<Record<string, CountName>>): () => TabCounts {
  return () => {
    const { data } = useOverview()
    if (data === undefined) return {}
    const countOf = (name: CountName) => `${data.counts[name]}${data.isCapped[name] ? '+' : ''}`
    return Object.fromEntries(Object.entries(names).map(([tab, name]) => [tab, countOf(name)]))
  }
}

function TabsFilter({ filter, value, onChange }: Shown<'tabs'>) {
  const { label, choices, all, useCounts = noCounts } = filter
  const counts = useCounts()
  const tabs: ChoiceList = all === undefined ? choices : [['', all], ...choices]
  return (
    <Tabs
      label={label}
      tabs={tabs.map(([id, text]) => ({ id, label: text, count: counts[id] }))}
      selected={value}
      onSelect={onChange}
    />
  )
}

function NameFilter({ filter: { useNames, label, all }, value, onChange }: Shown<'name'>) {
  const names = useNames()
  // A name that is gone may still have something to show.
  const shown = value === '' || names.includes(value) ? names : [value, ...names]
  const choices = shown.map((one) => [one, one] as const)
  return <Select label={label} all={all} choices={choices} value={value} onChange={onChange} />
}

interface SelectProps extends FilterProps {
  readonly label: string
  readonly all: string
  readonly choices: ChoiceList
}

function Select({ value, onChange, label, all, choices }: SelectProps) {
  return (
    <select
      className="input input--small"
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{all}</option>
      {choices.map(([id, text]) => (
        <option key={id} value={id}>
          {text}
        </option>
      ))}
    </select>
  )
}

/** What applies if the address says nothing; empty: everything. */
function usualOf(filter: Filter): string {
  return filter.as === 'tabs' && filter.all === undefined ? (filter.choices[0]?.[0] ?? '') : ''
}

function mayBe(filter: Filter, value: string): boolean {
  return !('choices' in filter) || filter.choices.some(([one]) => one === value)
}

export type FilterValues = Readonly<Record<string, string>>

export interface Filters {
  readonly values: FilterValues
  readonly change: (name: string, value: string) => void
  readonly clear: () => void
  /** By more than what applies anyway. */
  readonly isNarrowed: boolean
}

/** What the address says; a value that a filter does not take counts as not said. */
export function useFilters(href: string, filters: readonly Filter[]): Filters {
  const search = useSearch()
  const [, go] = useLocation()
  const values = useMemo(() => {
    const said = new URLSearchParams(search)
    return Object.fromEntries(
      filters.map((filter) => {
        const value = said.get(filter.name) ?? ''
        return [filter.name, value !== '' && mayBe(filter, value) ? value : usualOf(filter)] as const
      }),
    )
  }, [search, filters])
  const goTo = (next: FilterValues) => {
    // The page was left: what was typed is applied with a delay, and its screen stays until the next one is loaded.
    if (location.pathname !== href) return
    const said = filters.map(
      (one) => [one.name, next[one.name] === usualOf(one) ? '' : next[one.name]] as const,
    )
    go(withSearch(href, Object.fromEntries(said)), { replace: true })
  }
  return {
    values,
    change: (name, value) => goTo({ ...values, [name]: value }),
    clear: () => goTo({}),
    isNarrowed: filters.some((filter) => values[filter.name] !== usualOf(filter)),
  }
}

interface FilterBarProps {
  readonly filters: readonly Filter[]
  readonly values: FilterValues
  readonly onChange: (name: string, value: string) => void
  readonly children?: ReactNode
}

export function FilterBar({ filters, values, onChange, children }: FilterBarProps) {
  const show = (filter: Filter) => (
    <FilterField
      key={filter.name}
      filter={filter}
      value={values[filter.name] ?? ''}
      onChange={(value) => onChange(filter.name, value)}
    />
  )
  return (
    <>
      {filters.filter(({ as }) => as === 'tabs').map(show)}
      <div className="toolbar" role="search">
        {filters.filter(({ as }) => as !== 'tabs').map(show)}
        {children}
      </div>
    </>
  )
}

const PAGE_MAX = 200

/** More of a list that is read from its start; beyond a page, filters find the rest. */
export function MoreRows({
  hasMore,
  limit,
  onMore,
}: {
  readonly hasMore: boolean
  readonly limit: number
  readonly onMore: (limit: number) => void
}) {
  if (!hasMore) return null
  return (
    <div className="list__foot">
      {limit < PAGE_MAX ? (
        <Button isSmall onClick={() => onMore(Math.min(PAGE_MAX, limit + 75))}>
          Load more
        </Button>
      ) : (
        'There are more. Choose a route or a state to see them.'
      )}
    </div>
  )
}
