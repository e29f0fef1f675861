// The reads of every screen, each with the key by which the live stream marks it as old.

import { QueryClient, useQuery } from '@tanstack/react-query'
import { ApiError, get, getExact } from './api.ts'
import type {
  DeadLetter,
  DeadLetterDetails,
  DeadLetterGroup,
  Definition,
  DefinitionDetails,
  DefinitionVersion,
  Demo,
  EventDetails,
  EventRow,
  Explanation,
  Key,
  Me,
  Overview,
  Page,
  Replay,
  Secret,
  Stats,
  Tenant,
  Work,
  WorkStory,
} from './types.ts'

export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        refetchOnWindowFocus: true,
        // Only what may pass by itself is asked again.
        retry: (count, error) => count < 2 && error instanceof ApiError && error.problem.status === 0,
      },
    },
  })
}

type Filter = Readonly<Record<string, string | number | boolean | undefined>>

export const useMe = () =>
  useQuery({ queryKey: ['me'], queryFn: () => get<Me>('/me'), staleTime: 60_000, retry: false })

export const useOverview = (isOn = true) =>
  useQuery({
    queryKey: ['overview'],
    queryFn: () => get<Overview>('/overview'),
    refetchInterval: 10_000,
    enabled: isOn,
  })

export const useStats = (minutes: number) =>
  useQuery({
    queryKey: ['stats', minutes],
    queryFn: () => get<Stats>('/stats', { minutes }),
    refetchInterval: 5_000,
    placeholderData: (before) => before,
  })

export const useDemo = () =>
  useQuery({
    queryKey: ['demo'],
    queryFn: () => get<Demo>('/demo'),
    retry: false,
    refetchInterval: (query) => (query.state.data?.isSending === true ? 700 : false),
  })

export const useEventDetails = (id: string) =>
  useQuery({ queryKey: ['event', id], queryFn: () => getExact<EventDetails>(`/events/${id}`, ['data']) })

export const useExplanation = (id: string, isOn: boolean) =>
  useQuery({
    queryKey: ['explain', id],
    queryFn: () => get<Explanation>(`/events/${id}/explain`),
    enabled: isOn,
  })

export const useRecentEvents = (filter: Filter, isOn = true) =>
  useQuery({
    queryKey: ['recent-events', filter],
    queryFn: () => get<Page<EventRow>>('/events', filter),
    enabled: isOn,
  })

export const useUnmatched = (limit: number) =>
  useQuery({ queryKey: ['unmatched', limit], queryFn: () => get<Page<EventRow>>('/unmatched', { limit }) })

export const useWorkList = (filter: Filter) =>
  useQuery({
    queryKey: ['work-list', filter],
    queryFn: () => get<Page<Work>>('/work', filter),
    placeholderData: (before) => before,
  })

export const useWork = (id: string) =>
  useQuery({ queryKey: ['work', id], queryFn: () => get<WorkStory>(`/work/${id}`) })

export const useParked = () =>
  useQuery({ queryKey: ['parked'], queryFn: () => get<Page<Work>>('/work', { state: 'parked', limit: 50 }) })

export const useDeadLetterGroups = (state: string) =>
  useQuery({
    queryKey: ['dead-letter-groups', state],
    queryFn: () => get<Page<DeadLetterGroup>>('/dead-letters/groups', { state }),
    placeholderData: (before) => before,
  })

export const useDeadLetters = (filter: Filter) =>
  useQuery({
    queryKey: ['dead-letters', filter],
    queryFn: () => get<Page<DeadLetter>>('/dead-letters', filter),
  })

export const useDeadLetter = (id: string) =>
  useQuery({
    queryKey: ['dead-letter', id],
    queryFn: () => getExact<DeadLetterDetails>(`/dead-letters/${id}`, ['event', 'data']),
  })

export const useReplay = (id: string | null) =>
  useQuery({
    queryKey: ['replay', id],
    queryFn: () => get<Replay>(`/replays/${id}`),
    enabled: id !== null,
    refetchInterval: (query) => (query.state.data?.state === 'running' ? 500 : false),
  })

export const useDefinitions = (kind?: string) =>
  useQuery({
    queryKey: ['definitions', kind ?? 'all'],
    queryFn: () => get<Page<Definition>>('/definitions', { kind }),
  })

export const useDefinition = (kind: string, name: string) =>
  useQuery({
    queryKey: ['definition', kind, name],
    queryFn: () => get<DefinitionDetails>(`/definitions/${kind}/${name}`),
  })

export const useVersions = () =>
  useQuery({
    queryKey: ['versions'],
    queryFn: () => get<Page<DefinitionVersion>>('/definitions/versions'),
  })

export const useKeys = (isOn: boolean) =>
  useQuery({ queryKey: ['keys'], queryFn: () => get<Page<Key>>('/keys'), enabled: isOn })

export const useSecrets = (isOn: boolean) =>
  useQuery({ queryKey: ['secrets'], queryFn: () => get<Page<Secret>>('/secrets'), enabled: isOn })

export const useTenants = (isOn: boolean) =>
  useQuery({ queryKey: ['tenants'], queryFn: () => get<Page<Tenant>>('/tenants'), enabled: isOn })
