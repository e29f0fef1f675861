// The credential of a new connection: an existing one, or a new one that names its secret. A typed value goes to the
// vault at once, and is not kept in the page.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useId, useState } from 'react'
import { api, fieldErrors, fieldErrorWithin } from '../api.ts'
import { authInWords } from '../lib/connection-words.ts'
import {
  type CredentialDraft,
  credentialDocument,
  MODEL_FIELDS,
  secretNameOf,
} from '../lib/credential-draft.ts'
import { CREDENTIAL_FIELDS } from '../lib/definition-fields.generated.ts'
import { useCredentials, useSecrets } from '../queries.ts'
import type { Credential, ProviderDetail } from '../types.ts'
import { ProblemNote } from './actions.tsx'
import { Button, Field } from './controls.tsx'
import { DeclaredFields, documentOf, type TypedFields } from './declared-fields.tsx'
import { Dialog } from './surfaces.tsx'

/** Drawn with care, or known already. */
const DRAWN = ['environment', 'auth', 'username']
const OTHER_FIELDS = CREDENTIAL_FIELDS.filter(({ name }) => !DRAWN.includes(name))

interface CredentialStepProps {
  readonly head: ReactNode
  readonly provider: ProviderDetail
  /** `isAsked`: the vendor asks a user for permission before there is a token. */
  readonly onNext: (credential: string | null, isAsked: boolean) => void
  readonly onBack: () => void
  readonly onClose: () => void
}

export function CredentialStep({ head, provider, onNext, onBack, onClose }: CredentialStepProps) {
  const client = useQueryClient()
  const { data: credentials } = useCredentials()
  const { data: secrets } = useSecrets()
  const listId = useId()
  const there = credentials?.items.filter((one) => one.provider === provider.name) ?? []
  const [picked, setPicked] = useState<string | null>(null)
  const [value, setValue] = useState('')
  const [draft, setDraft] = useState<CredentialDraft>(() => ({
    auth: provider.auth[0] ?? 'none',
    name: provider.name,
    secret: secretNameOf(`${provider.name}-secret`),
    username: '',
    clientId: '',
    grant: provider.oauth2?.hasAuthorizationCode === true ? 'authorizationCode' : 'clientCredentials',
    scopes: '',
    appId: '',
    installationId: '',
    subject: '',
  }))
  const [others, setOthers] = useState<TypedFields>({})
  const set = (part: Partial<CredentialDraft>) => setDraft({ ...draft, ...part })
  const save = useMutation({
    mutationFn: async () => {
      if (value !== '') {
        await api.setSecret({ name: draft.secret.trim(), value, pending: false })
        setValue('')
      }
      return api.putCredential({ ...credentialDocument(provider.name, draft), ...documentOf(others) })
    },
    onSuccess: ({ item }) => onNext(item.name, item.grant === 'authorizationCode'),
    onSettled: () => client.invalidateQueries({ queryKey: ['credentials'] }),
  })
  const isNone = draft.auth === 'none'
  const submit = () => {
    if (picked !== null) {
      const found = there.find(({ name }) => name === picked)
      return onNext(picked, found?.grant === 'authorizationCode' && found.status === 'missing')
    }
    if (isNone) return onNext(null, false)
    save.mutate()
  }
  const words = authInWords(draft.auth)
  const isThere = secrets?.items.some(({ name }) => name === draft.secret.trim()) === true
  const shownErrors = [
    ...['name', 'secret', 'value'],
    ...MODEL_FIELDS[draft.auth].map(({ path }) => path),
    ...OTHER_FIELDS.map(({ name }) => name),
  ]
  const isTold =
    fieldErrors(save.error).length > 0 &&
    shownErrors.some((path) => fieldErrorWithin(save.error, path) !== undefined)
  return (
    <Dialog
      title={`New connection to ${provider.title}`}
      onClose={onClose}
      onSubmit={submit}
      isWide
      foot={
        <>
          <Button onClick={onBack}>Back</Button>
          <Button type="submit" variant="primary" isBusy={save.isPending}>
            Next
          </Button>
        </>
      }
    >
      {head}
      {there.length > 0 && (
        <Field label="Credential">
          {(field) => (
            <select
              {...field}
              className="input"
              value={picked ?? ''}
              onChange={(event) => setPicked(event.target.value === '' ? null : event.target.value)}
            >
              <option value="">Make a new one</option>
              {there.map(({ name }) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
      )}
      {picked === null && (
        <>
          <Field label="Sign-in">
            {(field) => (
              <select
                {...field}
                className="input"
                value={draft.auth}
                onChange={(event) => set({ auth: event.target.value as Credential['auth'] })}
              >
                {provider.auth.map((one) => (
                  <option key={one} value={one}>
                    {authInWords(one).label}
                  </option>
                ))}
              </select>
            )}
          </Field>
          {isNone ? (
            <p className="muted">
              Nothing is sent along: the address itself is the secret, or there is none.
            </p>
          ) : (
            <>
              <div className="pair">
                <Field label="Name of the credential" error={fieldErrorWithin(save.error, 'name')}>
                  {(field) => (
                    <input
                      {...field}
                      className="input mono"
                      spellCheck={false}
                      value={draft.name}
                      onChange={(event) => set({ name: event.target.value })}
                    />
                  )}
                </Field>
                <Field
                  label="Secret of the vault"
                  hint={
                    isThere
                      ? 'It is there already: a value that you type takes its place at once, for all that name it.'
                      : 'Its name. One that is there, or a new one.'
                  }
                  error={fieldErrorWithin(save.error, 'secret')}
                >
                  {(field) => (
                    <input
                      {...field}
                      className="input mono"
                      list={listId}
                      spellCheck={false}
                      value={draft.secret}
                      onChange={(event) => set({ secret: event.target.value })}
                    />
                  )}
                </Field>
                <datalist id={listId}>
                  {secrets?.items.map(({ name }) => (
                    <option key={name} value={name} />
                  ))}
                </datalist>
              </div>
              {draft.auth === 'oauth2' && provider.oauth2?.hasAuthorizationCode === true && (
                <Field label="Who allows it">
                  {(field) => (
                    <select
                      {...field}
                      className="input"
                      value={draft.grant}
                      onChange={(event) =>
                        set({
                          grant:
                            event.target.value === 'authorizationCode'
                              ? 'authorizationCode'
                              : 'clientCredentials',
                        })
                      }
                    >
                      <option value="authorizationCode">A person, asked by the vendor</option>
                      <option value="clientCredentials">The client itself</option>
                    </select>
                  )}
                </Field>
              )}
              <div className="pair">
                {MODEL_FIELDS[draft.auth].map(({ field: name, label, path, isOptional }) => (
                  <Field
                    key={name}
                    label={isOptional === true ? `${label} (optional)` : label}
                    error={fieldErrorWithin(save.error, path)}
                  >
                    {(field) => (
                      <input
                        {...field}
                        className="input mono"
                        spellCheck={false}
                        value={draft[name]}
                        onChange={(event) => set({ [name]: event.target.value })}
                      />
                    )}
                  </Field>
                ))}
              </div>
              <Field
                label={`${words.secret} (optional)`}
                hint="It goes into the vault and is never shown. Left open: the secret has its value already, or gets it later."
                error={fieldErrorWithin(save.error, 'value')}
              >
                {(field) =>
                  words.isLong === true ? (
                    <textarea
                      {...field}
                      className="input mono"
                      rows={5}
                      autoComplete="off"
                      spellCheck={false}
                      value={value}
                      onChange={(event) => setValue(event.target.value)}
                    />
                  ) : (
                    <input
                      {...field}
                      className="input mono"
                      type="password"
                      autoComplete="off"
                      value={value}
                      onChange={(event) => setValue(event.target.value)}
                    />
                  )
                }
              </Field>
              <details className="more">
                <summary>Description, rotation</summary>
                <div className="more__body">
                  <DeclaredFields
                    fields={OTHER_FIELDS}
                    values={others}
                    onChange={setOthers}
                    errorOf={(field) => fieldErrorWithin(save.error, field)}
                  />
                </div>
              </details>
            </>
          )}
          {save.error !== null && !isTold && <ProblemNote error={save.error} />}
        </>
      )}
    </Dialog>
  )
}
