// A new connection, step by step: provider → credential by reference → settings → a live test. The result of each step
// is stored, so that a user who leaves in between finds it on its page.

import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation, useSearch } from 'wouter'
import { fitsProvider } from '../lib/connection-words.ts'
import { useProvider, useProviders } from '../queries.ts'
import type { ConnectionTest, ProviderDetail } from '../types.ts'
import { AuthorizeButton, TestNow } from './connection-dialogs.tsx'
import { Button, Field } from './controls.tsx'
import { Dialog, ErrorState, Note, SkeletonRows } from './surfaces.tsx'
import { CredentialStep } from './wizard-credential.tsx'
import { SettingsStep } from './wizard-settings.tsx'

const STEPS = [
  ['provider', 'Provider'],
  ['credential', 'Credential'],
  ['settings', 'Settings'],
  ['test', 'Test'],
] as const
type StepName = (typeof STEPS)[number][0]

interface Chosen {
  readonly provider: string
  /** null: none is needed. */
  readonly credential: string | null
  /** The vendor asks a user for permission before there is a token. */
  readonly isAsked: boolean
  readonly connection: string
}

export function ConnectionWizard({ onClose }: { readonly onClose: () => void }) {
  const client = useQueryClient()
  const [, go] = useLocation()
  const given = new URLSearchParams(useSearch()).get('provider') ?? ''
  const [step, setStep] = useState<StepName>(given === '' ? 'provider' : 'credential')
  const [chosen, setChosen] = useState<Chosen>({
    provider: given,
    credential: null,
    isAsked: false,
    connection: '',
  })
  const [tested, setTested] = useState<ConnectionTest | null>(null)
  const provider = useProvider(chosen.provider, chosen.provider !== '')
  const leave = () => {
    onClose()
    void client.invalidateQueries()
    if (chosen.connection !== '') go(`/connections/${chosen.connection}`)
  }
  const next = (to: StepName, part: Partial<Chosen>) => {
    setChosen({ ...chosen, ...part })
    setStep(to)
  }
  const head = (
    <ol className="wizard__steps" aria-label="Steps">
      {STEPS.map(([id, label], index) => (
        <li key={id} aria-current={id === step ? 'step' : undefined}>
          {index + 1}. {label}
        </li>
      ))}
    </ol>
  )
  if (step === 'provider') {
    return (
      <ProviderStep
        head={head}
        value={chosen.provider}
        onNext={(name) => next('credential', { provider: name })}
        onClose={onClose}
      />
    )
  }
  if (provider.data === undefined) {
    return (
      <Dialog title="New connection" onClose={onClose} isWide foot={<Button onClick={onClose}>Close</Button>}>
        {head}
        {provider.error === null ? <SkeletonRows count={4} /> : <ErrorState error={provider.error} />}
      </Dialog>
    )
  }
  if (step === 'credential') {
    return (
      <CredentialStep
        head={head}
        provider={provider.data}
        onNext={(credential, isAsked) => next('settings', { credential, isAsked })}
        onBack={() => setStep('provider')}
        onClose={onClose}
      />
    )
  }
  if (step === 'settings') {
    return (
      <SettingsStep
        head={head}
        provider={provider.data}
        credential={chosen.credential}
        onNext={(connection) => next('test', { connection })}
        onBack={() => setStep('credential')}
        onClose={onClose}
      />
    )
  }
  return (
    <Dialog
      title={`New connection: ${chosen.connection}`}
      onClose={leave}
      isWide
      foot={
        <>
          <Button onClick={() => setStep('settings')}>Back</Button>
          <Button variant="primary" onClick={leave}>
            {tested?.ok === true ? 'Done' : 'Leave it pending'}
          </Button>
        </>
      }
    >
      {head}
      {chosen.isAsked && chosen.credential !== null && (
        <Note tone="accent">
          <strong>The vendor has to be asked first.</strong> Go there, allow it, come back, and test.{' '}
          <AuthorizeButton name={chosen.credential} isPrimary />
        </Note>
      )}
      {provider.data.canProbe ? (
        <TestNow name={chosen.connection} onTested={setTested} />
      ) : (
        <Unprobed provider={provider.data} />
      )}
    </Dialog>
  )
}

function Unprobed({ provider }: { readonly provider: ProviderDetail }) {
  return (
    <Note tone="amber">
      <strong>{provider.title} cannot be tested by a call that changes nothing.</strong> Describe a probe in
      its definition, so that the connection can become active.
    </Note>
  )
}

interface ProviderStepProps {
  readonly head: React.ReactNode
  readonly value: string
  readonly onNext: (name: string) => void
  readonly onClose: () => void
}

function ProviderStep({ head, value, onNext, onClose }: ProviderStepProps) {
  const { data, error } = useProviders()
  const [typed, setTyped] = useState('')
  const [name, setName] = useState(value)
  const shown = data?.items.filter((one) => one.deprecated === null && fitsProvider(one, typed))
  return (
    <Dialog
      title="New connection"
      onClose={onClose}
      onSubmit={() => name !== '' && onNext(name)}
      isWide
      foot={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" variant="primary" disabled={name === ''}>
            Next
          </Button>
        </>
      }
    >
      {head}
      <Field label="Search">
        {(field) => (
          <input
            {...field}
            className="input"
            type="search"
            placeholder="Name, category or what it is"
            value={typed}
            onChange={(event) => setTyped(event.target.value)}
          />
        )}
      </Field>
      {data === undefined && (error === null ? <SkeletonRows count={4} /> : <ErrorState error={error} />)}
      <fieldset className="wizard__choice">
        <legend className="field__label">Provider</legend>
        <div className="wizard__providers">
          {shown?.map((one) => (
            <label key={one.name} className="wizard__provider">
              <input
                type="radio"
                name="provider"
                checked={name === one.name}
                onChange={() => setName(one.name)}
              />
              <span>
                {one.title} <span className="tag">{one.category}</span>
              </span>
              {one.description !== null && <span className="wizard__about">{one.description}</span>}
            </label>
          ))}
        </div>
      </fieldset>
      {shown?.length === 0 && (
        <p className="muted">None fits. Any REST API can be described as a provider of one’s own.</p>
      )}
    </Dialog>
  )
}
