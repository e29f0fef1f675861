// The signed-in user decides between the sign-in page and the frame with its screens.

import { QueryClientProvider, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useEffect, useState } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { problemOf, setOnSignedOut } from './api.ts'
import { Frame } from './frame.tsx'
import { useLive } from './live.ts'
import { makeQueryClient, useMe } from './queries.ts'
import { EventScreen } from './screens/event.tsx'
import { EventsScreen } from './screens/events.tsx'
import { NotFound } from './screens/not-found.tsx'
import { SignIn } from './screens/sign-in.tsx'
import { ErrorState } from './ui/surfaces.tsx'
import { Toasts } from './ui/toast.tsx'

const loadOverview = () => import('./screens/overview.tsx')
// Where most visits start: its code loads while the node is asked who is signed in.
if (location.pathname === '/') void loadOverview()
const Overview = lazy(loadOverview)
const WorkScreen = lazy(() => import('./screens/work.tsx'))
const WorkItem = lazy(() => import('./screens/work-item.tsx'))
const Parked = lazy(() => import('./screens/parked.tsx'))
const Failures = lazy(() => import('./screens/failures.tsx'))
const Escalations = lazy(() => import('./screens/escalations.tsx'))
const Ledger = lazy(() => import('./screens/ledger.tsx'))
const DeadLetters = lazy(() => import('./screens/dead-letters.tsx'))
const DeadLetter = lazy(() => import('./screens/dead-letter.tsx'))
const Sources = lazy(() => import('./screens/sources.tsx'))
const Source = lazy(() => import('./screens/source.tsx'))
const Rejections = lazy(() => import('./screens/rejections.tsx'))
const Catalog = lazy(() => import('./screens/catalog.tsx'))
const CatalogSubject = lazy(() => import('./screens/catalog-subject.tsx'))
const Routes = lazy(() => import('./screens/routes.tsx'))
const RouteScreen = lazy(() => import('./screens/route.tsx'))
const DefinitionEditor = lazy(() => import('./screens/definition-editor.tsx'))
const Versions = lazy(() => import('./screens/versions.tsx'))
const Try = lazy(() => import('./screens/try.tsx'))
const Workflows = lazy(() => import('./screens/workflows.tsx'))
const WorkflowScreen = lazy(() => import('./screens/workflow.tsx'))
const InstanceScreen = lazy(() => import('./screens/instance.tsx'))
const Orphans = lazy(() => import('./screens/orphans.tsx'))
const Subscriptions = lazy(() => import('./screens/subscriptions.tsx'))
const SubscriptionScreen = lazy(() => import('./screens/subscription.tsx'))
const Deliveries = lazy(() => import('./screens/deliveries.tsx'))
const DeliveryScreen = lazy(() => import('./screens/delivery.tsx'))
const Connections = lazy(() => import('./screens/connections.tsx'))
const ConnectionScreen = lazy(() => import('./screens/connection.tsx'))
const Credentials = lazy(() => import('./screens/credentials.tsx'))
const CredentialScreen = lazy(() => import('./screens/credential.tsx'))
const Runs = lazy(() => import('./screens/runs.tsx'))
const RunScreen = lazy(() => import('./screens/run.tsx'))
const Providers = lazy(() => import('./screens/providers.tsx'))
const ProviderScreen = lazy(() => import('./screens/provider.tsx'))
const Settings = lazy(() => import('./screens/settings.tsx'))

export function App() {
  const [client] = useState(makeQueryClient)
  return (
    <QueryClientProvider client={client}>
      <Gate />
      <Toasts />
    </QueryClientProvider>
  )
}

function Gate() {
  const client = useQueryClient()
  const me = useMe()
  const [path] = useLocation()
  const isSignedIn = me.data !== undefined && !me.isError
  useLive(client, isSignedIn)
  useEffect(() => {
    setOnSignedOut(() => {
      if (client.getQueryData(['me']) !== undefined) void client.resetQueries({ queryKey: ['me'] })
    })
  }, [client])

  if (path === '/sign-in') return <SignIn isSignedIn={isSignedIn} />
  if (me.isPending) return <div className="splash" role="status" aria-label="Loading" />
  if (me.isError) {
    if (problemOf(me.error).status === 401) {
      const wanted = path === '/' ? '' : `?to=${encodeURIComponent(path)}`
      return <Redirect to={`/sign-in${wanted}`} replace />
    }
    return <ErrorState error={me.error} onRetry={() => void me.refetch()} />
  }
  return (
    <Frame me={me.data}>
      <Suspense fallback={<div className="page" role="status" aria-label="Loading" />}>
        <Switch>
          <Route path="/" component={Overview} />
          <Route path="/events" component={EventsScreen} />
          <Route path="/events/:id">{({ id }) => <EventScreen key={id} id={id} />}</Route>
          <Route path="/work" component={WorkScreen} />
          <Route path="/work/:id">{({ id }) => <WorkItem key={id} id={id} />}</Route>
          <Route path="/failures" component={Failures} />
          <Route path="/ledger" component={Ledger} />
          <Route path="/escalations" component={Escalations} />
          <Route path="/unknown" component={Parked} />
          <Route path="/dead-letters" component={DeadLetters} />
          <Route path="/dead-letters/:id">{({ id }) => <DeadLetter key={id} id={id} />}</Route>
          <Route path="/sources" component={Sources} />
          <Route path="/sources/:name">{({ name }) => <Source key={name} name={name} />}</Route>
          <Route path="/rejections" component={Rejections} />
          <Route path="/catalog" component={Catalog} />
          <Route path="/catalog/:subject">
            {({ subject }) => <CatalogSubject key={subject} subject={subject} />}
          </Route>
          <Route path="/routes" component={Routes} />
          <Route path="/routes/:name">{({ name }) => <RouteScreen key={name} name={name} />}</Route>
          <Route path="/workflows" component={Workflows} />
          <Route path="/workflows/:name">{({ name }) => <WorkflowScreen key={name} name={name} />}</Route>
          <Route path="/instances/:id">{({ id }) => <InstanceScreen key={id} id={id} />}</Route>
          <Route path="/orphans" component={Orphans} />
          <Route path="/subscriptions" component={Subscriptions} />
          <Route path="/subscriptions/:name">
            {({ name }) => <SubscriptionScreen key={name} name={name} />}
          </Route>
          <Route path="/deliveries" component={Deliveries} />
          <Route path="/deliveries/:id">{({ id }) => <DeliveryScreen key={id} id={id} />}</Route>
          <Route path="/connections" component={Connections} />
          <Route path="/connections/:name">{({ name }) => <ConnectionScreen key={name} name={name} />}</Route>
          <Route path="/credentials" component={Credentials} />
          <Route path="/credentials/:name">{({ name }) => <CredentialScreen key={name} name={name} />}</Route>
          <Route path="/runs" component={Runs} />
          <Route path="/runs/:id">{({ id }) => <RunScreen key={id} id={id} />}</Route>
          <Route path="/providers" component={Providers} />
          <Route path="/providers/:name">{({ name }) => <ProviderScreen key={name} name={name} />}</Route>
          <Route path="/definitions/edit" component={DefinitionEditor} />
          <Route path="/definitions/versions" component={Versions} />
          <Route path="/try" component={Try} />
          <Route path="/settings" component={Settings} />
          <Route component={NotFound} />
        </Switch>
      </Suspense>
    </Frame>
  )
}
