// Signing in: by the link that the node prints, or by a key. Either becomes a session cookie that no script can read.

import { useQueryClient } from '@tanstack/react-query'
import { LogIn } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { Redirect } from 'wouter'
import { api, fieldError, problemOf } from '../api.ts'
import { Button, Field } from '../ui/controls.tsx'
import { Note, useTitle } from '../ui/surfaces.tsx'

/** The token of a link, removed from the address so that it stays neither in the history nor on the screen. */
function takeLink(): string | null {
  const link = new URLSearchParams(window.location.hash.slice(1)).get('link')
  if (link !== null) window.history.replaceState(null, '', window.location.pathname + window.location.search)
  return link
}

function wantedPage(): string {
  const to = new URLSearchParams(window.location.search).get('to')
  return to?.startsWith('/') === true && !to.startsWith('//') ? to : '/'
}

export function SignIn({ isSignedIn }: { readonly isSignedIn: boolean }) {
  useTitle('Sign in')
  const client = useQueryClient()
  const [key, setKey] = useState('')
  const [isBusy, setIsBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const [isLink, setIsLink] = useState(false)
  const link = useRef<string | null | undefined>(undefined)

  const signIn = async (body: { readonly key: string } | { readonly link: string }) => {
    setIsBusy(true)
    setError(null)
    setIsLink('link' in body)
    try {
      await api.signIn(body)
      await client.resetQueries({ queryKey: ['me'] })
    } catch (reason) {
      setError(reason)
    } finally {
      setIsBusy(false)
    }
  }
  // biome-ignore lint/correctness/useExhaustiveDependencies: a link works once, so it is used once.
  useEffect(() => {
    if (link.current !== undefined) return
    link.current = takeLink()
    if (link.current !== null) void signIn({ link: link.current })
  }, [])

  if (isSignedIn && !isBusy && link.current == null) return <Redirect to={wantedPage()} replace />
  if (isSignedIn && !isBusy && error === null) return <Redirect to={wantedPage()} replace />
  const problem = error === null ? null : problemOf(error)
  const keyError =
    problem === null || isLink ? undefined : (fieldError(error, 'key') ?? problem.detail ?? problem.title)
  return (
    <main className="sign-in">
      <form
        className="sign-in__card"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          if (key.trim() === '') setError(new Error('Paste a key first.'))
          else void signIn({ key: key.trim() })
        }}
      >
        <img src="/mark.svg" alt="" width="40" height="40" />
        <div>
          <h1>Sign in to Millrace</h1>
          <p className="muted">Every event accounted for.</p>
        </div>
        {problem !== null && isLink && (
          <Note tone="red">
            <strong>The link did not work.</strong> {problem.detail ?? problem.title} A link works once and
            for an hour; start the node again for a new one, or paste a key below.
          </Note>
        )}
        <Field
          label="Key"
          error={keyError}
          hint="The admin key is in the file that the node names when it starts."
        >
          {(props) => (
            <input
              {...props}
              className="input mono"
              type="password"
              value={key}
              onChange={(event) => setKey(event.target.value)}
              placeholder="mrk_default_…"
              autoComplete="current-password"
              spellCheck={false}
            />
          )}
        </Field>
        <Button type="submit" variant="primary" isBusy={isBusy} icon={<LogIn size={15} aria-hidden />}>
          Sign in
        </Button>
        <p className="sign-in__foot faint">
          On the node’s machine, <code>npm start</code> prints a link that signs you in without a key.
        </p>
      </form>
    </main>
  )
}
