package mmv

import (
	"fmt"
	"reflect"

	"github.com/performancecopilot/speed/v4"

	_ "pmdaderived/derived/agent/mmv/quiet" // before speed
)

// speed lets nobody choose where the file is and which numbers things have: it takes the place from
// pcp.conf, deaf to the variables that pmcd and the MMV agent obey, and hashes names to numbers that can
// collide (metrics), that the MMV agent refuses (domains) or that PCP takes for errors (instances).
// So we set its private fields; that they are there is checked.

// private returns where speed keeps a field of the thing.
func private[T any](thing reflect.Value, field string) (*T, error) {
	for thing.Kind() == reflect.Pointer || thing.Kind() == reflect.Interface {
		thing = thing.Elem()
	}
	v := thing.FieldByName(field)
	if !v.IsValid() || !v.CanAddr() || v.Type() != reflect.TypeFor[T]() {
		return nil, fmt.Errorf("this version of speed has no %s in %s", field, thing.Type())
	}
	return (*T)(v.Addr().UnsafePointer()), nil
}

func setPrivate[T any](thing reflect.Value, field string, value T) error {
	at, err := private[T](thing, field)
	if err != nil {
		return err
	}
	*at = value
	return nil
}

// newClient makes a client that will write its file at path.
func newClient(name, path string) (*speed.PCPClient, error) {
	client, err := speed.NewPCPClient(name)
	if err != nil {
		return nil, err
	}
	return client, setPrivate(reflect.ValueOf(client), "loc", path)
}

// newDomain makes the instance domain of the buckets. Instances are numbered from 0.
func newDomain(names []string) (*speed.PCPInstanceDomain, error) {
	domain, err := speed.NewPCPInstanceDomain("bucket", names, "classes of durations",
		"Each is named after the longest duration in it, in milliseconds.")
	if err != nil {
		return nil, err
	}
	if err := setPrivate(reflect.ValueOf(domain), "id", bucketSerial); err != nil {
		return nil, err
	}
	instances := reflect.ValueOf(domain).Elem().FieldByName("instances")
	if instances.Kind() != reflect.Map || instances.Type().Key().Kind() != reflect.String {
		return nil, fmt.Errorf("this version of speed has no instances in %T", domain)
	}
	for i, name := range names {
		if err := setPrivate(instances.MapIndex(reflect.ValueOf(name)), "id", uint32(i)); err != nil {
			return nil, err
		}
	}
	return domain, nil
}

// bucketSerial is the serial of the instance domain, less than 2048 as the MMV agent requires.
const bucketSerial = uint32(1)
