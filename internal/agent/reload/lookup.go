package reload

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"pmdaderived/derived"
	"pmdaderived/internal/agent/upstream"
	"pmdaderived/internal/served"
	"pmdaderived/pdu"
	"pmdaderived/pmda/pmapi"
)

// lookUpAll looks up all operands and binds all definitions to them.
func (r *Reloader) lookUpAll(ctx context.Context) {
	if r.session == 0 {
		return // the next session begins with lookUpAll
	}
	before := r.metadata.Catalog
	r.changeHidden, r.lastLookUpAll = false, time.Now()
	r.handleLookupResult(r.rebind(ctx, lookUpEverything))
	r.limiter.recordLookup(!r.metadata.Catalog.Equal(before))
}

// lookUpMissing looks up the operands without a descriptor, if there are any.
func (r *Reloader) lookUpMissing(ctx context.Context) {
	if r.session != 0 && r.hasUnbound() {
		r.lastLookUpMissing = time.Now()
		r.handleLookupResult(r.rebind(ctx, lookUpMissingOnly))
	}
}

// hasUnbound reports whether a metric that does not exist now would change what is served when it appears.
func (r *Reloader) hasUnbound() bool {
	snap := r.options.Snapshot.Load()
	return snap.Bound < len(snap.Served) || r.config.Language.NoValue
}

// lookUpDue looks up the refused operands and the queued instance domains that are due. Only a changed operand causes a
// rebind.
func (r *Reloader) lookUpDue(ctx context.Context) {
	var err error
	if r.metadata.RefusedDue(time.Now()) {
		err = r.lookUpAgain(ctx, func(conn *pmapi.Conn) (changed bool, err error) {
			return r.metadata.LookUpRefused(ctx, conn, r.usedNames())
		})
	}
	if domains := r.metadata.Queue.TakeDue(time.Now(), r.neededInDoms); err == nil && len(domains) > 0 {
		err = r.options.Upstream.LookUpInstances(ctx, r.neededInDoms, domains, r.metadata.Queue)
		r.options.Sampler.Wake()
	}
	if err != nil { // without an error there may have been no request, which proves nothing
		r.handleLookupResult(err)
	}
}

// lookUpAgain looks up some operands again, and binds the definitions again if the catalog has changed.
func (r *Reloader) lookUpAgain(ctx context.Context, ask func(*pmapi.Conn) (changed bool, err error)) error {
	changed := false
	err := r.options.Upstream.LookUp(func(conn *pmapi.Conn) (err error) {
		changed, err = ask(conn)
		return err
	})
	if err == nil && changed {
		err = r.rebind(ctx, lookUpMissingOnly)
	}
	return err
}

// refresh looks up some of the instance domains that were looked up long ago and are sampled, and if clients have asked
// since the last refresh, some descriptors. Agents can change both without a word.
func (r *Reloader) refresh(ctx context.Context) {
	r.handleEvents(ctx, r.options.Upstream.TakeEvents())
	if r.session == 0 {
		return
	}
	r.metadata.Queue.AddOld(time.Now(), r.options.Upstream.LastSampledDomains())
	r.lookUpDue(ctx)
	requests := r.options.Figures.Requests.Load()
	if requests == r.requests {
		return
	}
	r.requests = requests
	if err := r.lookUpAgain(ctx, func(conn *pmapi.Conn) (changed bool, err error) {
		return r.metadata.LookUpOld(ctx, conn)
	}); err != nil {
		r.handleLookupResult(err)
	}
}

// handleLookupResult handles the error of a lookup as a whole; nil: it succeeded. After an error lookUpTimer repeats
// it, unless the connection is lost: the next session begins with a lookup.
func (r *Reloader) handleLookupResult(err error) {
	switch {
	case err == nil:
		r.loggedLookupError = ""
		r.lookUpBackoff.Reset()
	case !errors.Is(err, upstream.ErrUnconnected) && r.session != 0:
		if text := err.Error(); text != r.loggedLookupError {
			r.loggedLookupError = text
			r.log.WithError(err).Warn("cannot look up operands, trying again")
		}
		r.lookUpTimer.Reset(r.lookUpBackoff.Next())
	}
}

// logRefused logs the number of refused operands when it has changed.
func (r *Reloader) logRefused() {
	n, name, why := r.metadata.Refused()
	switch n {
	case r.loggedRefused:
	case 0:
		r.log.Info("no operands are refused any more")
	default:
		r.log.WithError(why).WithFields(logrus.Fields{"operands": n, "operand": name}).
			Warn("operands are refused, trying again")
	}
	r.loggedRefused = n
}

// logUnusedNodes logs each protected name that has begun to protect nothing: no definition and no metric of pmcd is at
// or below it, so it may be misspelt. The default names are not logged.
func (r *Reloader) logUnusedNodes(ctx context.Context, snap *Snapshot) {
	defined := func(node string) bool {
		for range snap.Under(node) {
			return true
		}
		return false
	}
	var unused []string
	err := r.options.Upstream.LookUp(func(conn *pmapi.Conn) error {
		for _, node := range r.options.ProtectedNodes {
			if slices.Contains(served.DefaultProtected(), node) || defined(node) {
				continue
			}
			code := pdu.ErrName // of our own metrics only definitions are protected
			if !strings.HasPrefix(node+".", derived.Root+".") {
				found, err := conn.LookupNames(ctx, []string{node}) // alone, so that the code is that of the name
				if err != nil {
					return err
				}
				code = found[0].Code
			}
			if code == pdu.ErrName {
				unused = append(unused, node)
			}
		}
		return nil
	})
	if err != nil { // the next look-up will tell
		return
	}
	for _, node := range unused {
		if !slices.Contains(r.loggedUnused, node) {
			r.log.WithField("name", node).Warn("protected name protects nothing at present")
		}
	}
	r.loggedUnused = unused
}
