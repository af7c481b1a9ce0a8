package mmv

import (
	"fmt"
	"math"
	"reflect"

	"github.com/performancecopilot/speed/v4"

	"pmdaderived/derived/agent/control"
	"pmdaderived/pdu"
)

// speed lets nobody choose where the file is and which numbers things have: it takes the place from
// pcp.conf, deaf to the variables that pmcd and the MMV agent obey, and hashes names to numbers that can
// collide (metrics), that the MMV agent refuses (domains) or that PCP takes for errors (instances).
// So we set its private fields; that they are there is checked.

// setPrivate sets a field of something that speed has made.
func setPrivate[T any](thing reflect.Value, field string, value T) error {
	for thing.Kind() == reflect.Pointer || thing.Kind() == reflect.Interface {
		thing = thing.Elem()
	}
	v := thing.FieldByName(field)
	if !v.IsValid() || !v.CanAddr() || v.Type() != reflect.TypeFor[T]() {
		return fmt.Errorf("this version of speed has no %s in %s", field, thing.Type())
	}
	*(*T)(v.Addr().UnsafePointer()) = value
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
		"The name of an instance is the longest duration in its class, in milliseconds.")
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

// maxText is the longest text, without the NUL that ends it: a longer one goes over into the next.
const maxText = speed.StringLength - 1

// newMetric makes a metric with the first of numbers, or as many as it has values, and what sets them.
func newMetric(m *control.Metric, domain *speed.PCPInstanceDomain, numbers []uint64) (speed.Metric, []func(uint64) error, error) {
	// The format has PCP's own numbers for these.
	typ, sem := speed.MetricType(m.Type), speed.MetricSemantics(m.Sem)
	units := speed.NewMetricUnit().Space(speed.SpaceUnit(m.Units.SpaceScale)<<16, m.Units.Space).
		Time(speed.TimeUnit(m.Units.TimeScale)<<12, m.Units.Time).Count(speed.CountUnit(m.Units.CountScale)<<8, m.Units.Count)
	long := m.Long
	if m.Stored != "" || len(long) > maxText { // it tells of what nobody can do here, or goes on too long
		long = ""
	}
	var set []func(uint64) error
	if m.Serial != control.Singular {
		names := control.BucketNames()
		values := make(speed.Instances, len(names))
		for i, name := range names {
			values[name] = boxed(typ, numbers[i])
		}
		vector, err := speed.NewPCPInstanceMetric(values, m.Name, domain, typ, sem, units, m.Short, long)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range names {
			set = append(set, func(number uint64) error { return vector.SetInstance(boxed(typ, number), name) })
		}
		return vector, set, setPrivate(reflect.ValueOf(vector), "id", m.Exported)
	}
	var value any
	if m.Type == pdu.TypeString {
		var v control.Values
		m.Fill(&v)
		value = string(v.Texts[0][:min(len(v.Texts[0]), maxText)])
	} else {
		value = boxed(typ, numbers[0])
	}
	single, err := speed.NewPCPSingletonMetric(value, m.Name, typ, sem, units, m.Short, long)
	if err != nil {
		return nil, nil, err
	}
	if m.Type != pdu.TypeString {
		set = append(set, func(number uint64) error { return single.Set(boxed(typ, number)) })
	}
	return single, set, setPrivate(reflect.ValueOf(single), "id", m.Exported)
}

// boxed is a number as speed wants it.
func boxed(t speed.MetricType, number uint64) any {
	switch t {
	case speed.Uint32Type:
		return uint32(number)
	case speed.DoubleType:
		return math.Float64frombits(number)
	}
	return number
}
