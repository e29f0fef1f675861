// The reads of every screen, each with the key by which the live stream invalidates it.

import { QueryClient, useQuery } from '@tanstack/react-query'
import {
  api,
  getDeadLetterExactly,
  getEventBody,
  getEventExactly,
  getInstanceExactly,
  problemOf,
} from './api.ts'
import type { Args, Definition } from './types.ts'

export function makeQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 2_000,
        refetchOnWindowFocus: true,
        // Only failures that may pass by themselves are retried.
        retry: (count, error) => count < 2 && problemOf(error).status === 0,
      },
    },
  })
}

export const useMe = () =>
  useQuery({ queryKey: ['me'], queryFn: () => api.getMe(), staleTime: 60_000, retry: false })

export const useOverview = () =>
  useQuery({ queryKey: ['overview'], queryFn: () => api.getOverview(), refetchInterval: 10_000 })

export const useStats = (minutes: number) =>
  useQuery({
    queryKey: ['stats', minutes],
    queryFn: () => api.getStats({ minutes }),
    refetchInterval: 5_000,
    placeholderData: (before) => before,
  })

export const useDemo = () =>
  useQuery({
    queryKey: ['demo'],
    queryFn: () => api.getDemo(),
    retry: false,
    refetchInterval: (query) => (query.state.data?.isSending === true ? 700 : false),
  })

export const useEventDetails = (id: string) =>
  useQuery({ queryKey: ['event', id], queryFn: () => getEventExactly(id) })

export const useExplanation = (id: string) =>
  useQuery({ queryKey: ['explain', id], queryFn: () => api.explainEvent({ id }) })

export const useRecentEvents = (filter: Args<'listEvents'>) =>
  useQuery({ queryKey: ['recent-events', filter], queryFn: () => api.listEvents(filter) })

export const useWorkList = (filter: Args<'listWork'>) =>
  useQuery({
    queryKey: ['work-list', filter],
    queryFn: () => api.listWork(filter),
    placeholderData: (before) => before,
  })

export const useWork = (id: string) =>
  useQuery({ queryKey: ['work', id], queryFn: () => api.getWork({ id }) })

export const useParked = () =>
  useQuery({ queryKey: ['parked'], queryFn: () => api.listWork({ state: 'parked', limit: 200 }) })

export const useLedger = (filter: Args<'listLedger'>) =>
  useQuery({
    queryKey: ['ledger', filter],
    queryFn: () => api.listLedger(filter),
    placeholderData: (before) => before,
  })

export const useEffectByKey = (key: string, isAsked: boolean) =>
  useQuery({
    queryKey: ['ledger', { key }],
    queryFn: () => api.listLedger({ key, limit: 1 }),
    enabled: isAsked,
  })

export const useLedgerHistory = (key: string) =>
  useQuery({ queryKey: ['ledger-history', key], queryFn: () => api.listLedgerHistory({ key }) })

export const useEscalations = (filter: Args<'listEscalations'>) =>
  useQuery({
    queryKey: ['escalations', filter],
    queryFn: () => api.listEscalations(filter),
    placeholderData: (before) => before,
  })

/** Rate permits refill and hosts open by the clock alone: no change announces it. */
const PACE_MS = 3_000

export const usePaces = () =>
  useQuery({ queryKey: ['pace', 'all'], queryFn: () => api.listPace(), refetchInterval: PACE_MS })

export const usePace = (route: string) =>
  useQuery({
    queryKey: ['pace', route],
    queryFn: () => api.getPace({ route }),
    refetchInterval: PACE_MS,
  })

export const useHeldLanes = () =>
  useQuery({ queryKey: ['held-lanes'], queryFn: () => api.listHeldLanes({ limit: 200 }) })

export const useDeadLetterGroups = (state: Args<'listDeadLetterGroups'>['state']) =>
  useQuery({
    queryKey: ['dead-letter-groups', state],
    queryFn: () => api.listDeadLetterGroups({ state }),
    placeholderData: (before) => before,
  })

export const useDeadLetters = (filter: Args<'listDeadLetters'>) =>
  useQuery({ queryKey: ['dead-letters', filter], queryFn: () => api.listDeadLetters(filter) })

export const useDeadLetter = (id: string) =>
  useQuery({ queryKey: ['dead-letter', id], queryFn: () => getDeadLetterExactly(id) })

export const useReplay = (id: string) =>
  useQuery({
    queryKey: ['replay', id],
    queryFn: () => api.getReplay({ id }),
    refetchInterval: (query) => (query.state.data?.state === 'running' ? 500 : false),
  })

export const useDefinitions = (kind?: Definition['kind']) =>
  useQuery({
    queryKey: kind === undefined ? ['definitions'] : ['definitions', { kind }],
    queryFn: () => api.listDefinitions({ kind }),
  })

export const useDefinition = (kind: Definition['kind'], name: string, isOn = true) =>
  useQuery({
    queryKey: ['definition', kind, name],
    queryFn: () => api.getDefinition({ kind, name }),
    enabled: isOn,
  })

export const useVersions = () =>
  useQuery({ queryKey: ['versions'], queryFn: () => api.listDefinitionVersions({ limit: 100 }) })

export const useKeys = () => useQuery({ queryKey: ['keys'], queryFn: () => api.listKeys({ limit: 200 }) })

export const useSecrets = () =>
  useQuery({ queryKey: ['secrets'], queryFn: () => api.listSecrets({ limit: 200 }) })

export const useVars = () => useQuery({ queryKey: ['vars'], queryFn: () => api.listVars() })

export const useTenants = (isOn: boolean) =>
  useQuery({ queryKey: ['tenants'], queryFn: () => api.listTenants({ limit: 200 }), enabled: isOn })

export const useRejections = (filter: Args<'listRejections'>) =>
  useQuery({
    queryKey: ['rejections', filter],
    queryFn: () => api.listRejections(filter),
    refetchInterval: 4_000,
    placeholderData: (before) => before,
  })

export const useCatalog = (filter: Args<'listCatalog'>) =>
  useQuery({
    queryKey: ['catalog', filter],
    queryFn: () => api.listCatalog(filter),
    placeholderData: (before) => before,
  })

export const useCatalogSubject = (subject: string | null) =>
  useQuery({
    queryKey: ['catalog-subject', subject],
    queryFn: () => api.getSubject({ subject: subject ?? '' }),
    enabled: subject !== null && subject !== '',
  })

export const useEventBody = (id: string) =>
  useQuery({
    queryKey: ['event-body', id],
    queryFn: () => getEventBody(id),
    staleTime: Number.POSITIVE_INFINITY,
  })

const LAST_EVENTS_MAX = 50

/** When one of the first sources got its newest event; null: never. Each is a request of its own. */
export function useLastEvent(source: string) {
  const { data: sources } = useDefinitions('Source')
  return useQuery({
    queryKey: ['last-event', source],
    queryFn: async () => (await api.listEvents({ source, limit: 1 })).items[0]?.receivedAt ?? null,
    refetchInterval: 10_000,
    enabled: sources?.items.slice(0, LAST_EVENTS_MAX).some(({ name }) => name === source) === true,
  })
}

/** For a paused source: the events that wait to be matched. Counted up to a page. */
export const useKept = (source: string, isOn: boolean) =>
  useQuery({
    queryKey: ['work-list', 'kept', source],
    queryFn: async () => {
      const { items, nextCursor } = await api.listWork({
        consumer: `source:${source}`,
        state: 'ready',
        limit: 200,
      })
      return { count: items.length, isCapped: nextCursor !== null }
    },
    enabled: isOn,
    refetchInterval: 5_000,
  })

export const useWorkflows = () => useQuery({ queryKey: ['workflows'], queryFn: () => api.listWorkflows() })

export const useWorkflow = (name: string) =>
  useQuery({ queryKey: ['workflow', name], queryFn: () => api.getWorkflow({ name }) })

/** The analysis of a definition; it stays true for its text. */
export const useProof = (name: string, text: string | undefined, isOn: boolean) =>
  useQuery({
    queryKey: ['proof', name, text],
    queryFn: async () => {
      const { proofs, findings } = await api.checkDefinitions({
        files: [{ path: `${name}.yaml`, text: text ?? '' }],
      })
      return { proof: proofs.find(({ workflow }) => workflow === name), findings }
    },
    enabled: isOn && text !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })

export const useInstances = (filter: Args<'listInstances'>) =>
  useQuery({
    queryKey: ['instances', filter],
    queryFn: () => api.listInstances(filter),
    placeholderData: (before) => before,
  })

/** `at`: the number of a step; null: the present. */
export const useInstance = (id: string, at: string | null, isOn = true) =>
  useQuery({
    queryKey: ['instance', id, at],
    queryFn: () => getInstanceExactly(id, at),
    enabled: isOn,
    placeholderData: (before) => before,
  })

export const useInstanceWhy = (id: string, isOn: boolean) =>
  useQuery({
    queryKey: ['instance-why', id],
    queryFn: () => api.explainInstance({ id }),
    enabled: isOn,
  })

export const useInstanceWork = (id: string, isOn: boolean) =>
  useQuery({
    queryKey: ['instance-work', id],
    queryFn: () => api.listInstanceWork({ id }),
    enabled: isOn,
  })

export const useOrphans = (filter: Args<'listOrphans'>) =>
  useQuery({
    queryKey: ['orphans', filter],
    queryFn: () => api.listOrphans(filter),
    placeholderData: (before) => before,
  })

/** The health of endpoints changes with every delivery: reloaded by the clock, not with each of them. */
export const HEALTH_MS = 4_000

export const useSubscriptions = (filter: Args<'listSubscriptions'>, isOn = true) =>
  useQuery({
    queryKey: ['subscriptions', filter],
    queryFn: () => api.listSubscriptions(filter),
    refetchInterval: HEALTH_MS,
    placeholderData: (before) => before,
    enabled: isOn,
  })

export const useSubscription = (name: string) =>
  useQuery({
    queryKey: ['subscription', name],
    queryFn: () => api.getSubscription({ name }),
    refetchInterval: HEALTH_MS,
  })

export const useDeliveries = (filter: Args<'listDeliveries'>) =>
  useQuery({
    queryKey: ['deliveries', filter],
    queryFn: () => api.listDeliveries(filter),
    placeholderData: (before) => before,
  })

export const useDelivery = (id: string) =>
  useQuery({ queryKey: ['delivery', id], queryFn: () => api.getDelivery({ id }) })

/** Those that receivers of an ed25519 subscription verify with. */
export const useWebhookKeys = (tenant: string | undefined, name: string, isOn: boolean) =>
  useQuery({
    queryKey: ['subscription', name, 'keys'],
    queryFn: () => api.listWebhookKeys({ tenant: tenant ?? '', name }),
    enabled: isOn && tenant !== undefined,
  })

export const useProviders = () =>
  useQuery({ queryKey: ['providers'], queryFn: () => api.listProviders(), staleTime: 30_000 })

export const useProvider = (id: string, isOn = true) =>
  useQuery({
    queryKey: ['provider', id],
    queryFn: () => api.getProvider({ id }),
    staleTime: 30_000,
    enabled: isOn,
  })

export const useConnections = () =>
  useQuery({
    queryKey: ['connections'],
    queryFn: () => api.listConnections(),
    refetchInterval: HEALTH_MS,
  })

export const useConnection = (id: string) =>
  useQuery({
    queryKey: ['connection', id],
    queryFn: () => api.getConnection({ id }),
    refetchInterval: HEALTH_MS,
  })

export const useCredentials = () =>
  useQuery({
    queryKey: ['credentials'],
    queryFn: () => api.listCredentials(),
    refetchInterval: HEALTH_MS,
  })

export const useCredential = (id: string) =>
  useQuery({
    queryKey: ['credential', id],
    queryFn: () => api.getCredential({ id }),
    refetchInterval: HEALTH_MS,
  })

export const useRun = (id: string) =>
  useQuery({
    queryKey: ['run', id],
    queryFn: () => api.getRun({ id }),
    refetchInterval: (query) =>
      query.state.data?.state === 'completed' || query.state.data?.state === 'dead-lettered'
        ? false
        : HEALTH_MS,
  })
