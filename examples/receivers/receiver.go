// A receiver in Go that needs nothing but Go: the whole of Standard Webhooks (v1) in one function.
//
//	WEBHOOK_SECRET=whsec_… go run examples/receivers/receiver.go
//
// Two secrets with a comma between them while it is changed.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	toleranceSeconds = 300
	bodyBytesMax     = 1024 * 1024
	hadMax           = 10_000
	signaturesMax    = 8
	keyBytesMin      = 24
)

// refusal says why a request is not to be trusted; "": it is from who has one of the secrets, and not old.
func refusal(body []byte, headers http.Header, secrets []string, now time.Time) string {
	id := headers.Get("webhook-id")
	timestamp := headers.Get("webhook-timestamp")
	signatures := headers.Get("webhook-signature")
	if id == "" || timestamp == "" || signatures == "" {
		return "missing_header"
	}
	sent, err := strconv.ParseUint(timestamp, 10, 40)
	if err != nil {
		return "bad_timestamp"
	}
	given := strings.Split(signatures, " ")
	if len(given) > signaturesMax {
		given = given[:signaturesMax]
	}
	isKnown := false
	for _, secret := range secrets {
		// A public key, or anything else that is no shared secret, must never be the key of an HMAC.
		text, isShared := strings.CutPrefix(secret, "whsec_")
		if !isShared {
			continue
		}
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(key) < keyBytesMin {
			continue
		}
		mac := hmac.New(sha256.New, key)
		fmt.Fprintf(mac, "%s.%s.", id, timestamp)
		mac.Write(body)
		expected := []byte("v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)))
		for _, one := range given {
			if hmac.Equal([]byte(one), expected) {
				isKnown = true
			}
		}
	}
	if !isKnown {
		return "no_match"
	}
	age := now.Unix() - int64(sent)
	if age > toleranceSeconds {
		return "too_old"
	}
	if -age > toleranceSeconds {
		return "too_new"
	}
	return ""
}

// ids remembers the latest ids: the same event comes again when an answer got lost. In earnest the id is a unique key in your
// database, written in the transaction that does the work.
type ids struct {
	sync.Mutex
	had   map[string]bool
	order []string
}

func (known *ids) isNew(id string) bool {
	known.Lock()
	defer known.Unlock()
	if known.had[id] {
		return false
	}
	known.had[id] = true
	known.order = append(known.order, id)
	if len(known.order) > hadMax {
		delete(known.had, known.order[0])
		known.order = known.order[1:]
	}
	return true
}

func main() {
	secrets := strings.Split(os.Getenv("WEBHOOK_SECRET"), ",")
	known := &ids{had: map[string]bool{}}
	handle := func(response http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, bodyBytesMax))
		if err != nil {
			http.Error(response, "too large", http.StatusRequestEntityTooLarge)
			return
		}
		if reason := refusal(body, request.Header, secrets, time.Now()); reason != "" {
			http.Error(response, reason, http.StatusBadRequest)
			return
		}
		if !known.isNew(request.Header.Get("webhook-id")) {
			fmt.Fprint(response, "known")
			return
		}
		fmt.Fprint(response, "taken")
		var event struct {
			ID   string          `json:"id"`
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		}
		if err := json.Unmarshal(body, &event); err != nil {
			log.Print(err)
			return
		}
		fmt.Println(event.Type, event.ID)
	}
	port := os.Getenv("PORT")
	if port == "" {
		port = "8080"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := &http.Server{Handler: http.HandlerFunc(handle), ReadTimeout: 15 * time.Second}
	log.Fatal(server.Serve(listener))
}
