// The signed-in user decides between the sign-in page and the frame with its screens.

import { QueryClientProvider, useQueryClient } from '@tanstack/react-query'
import { Suspense, useEffect, useState } from 'react'
import { Redirect, Route, Switch, useLocation } from 'wouter'
import { problemOf, setOnSignedOut } from './api.ts'
import { Frame } from './frame.tsx'
import { useLive } from './live.ts'
import { SCREENS } from './navigation.ts'
import { makeQueryClient, useMe } from './queries.ts'
import { NotFound } from './screens/not-found.tsx'
import { SignIn } from './screens/sign-in.tsx'
import { ErrorState } from './ui/surfaces.tsx'
import { Toasts } from './ui/toast.tsx'

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
          {SCREENS.flatMap(({ href, Screen, one }) => [
            Screen !== undefined && <Route key={href} path={href} component={Screen} />,
            one !== undefined && (
              <Route key={`${href}/`} path={`${href}/:${one.param}`}>
                {(params: Readonly<Record<string, string | undefined>>) => (
                  <one.Screen key={params[one.param]} {...params} />
                )}
              </Route>
            ),
          ])}
          <Route component={NotFound} />
        </Switch>
      </Suspense>
    </Frame>
  )
}
